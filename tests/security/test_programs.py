"""Programs that Dogwatch starts by itself are root's or the user's own, wherever PATH leads."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.programs import find_program
from dogwatch.remote.probe.command import run_command
from dogwatch.remote.quota import limits
from dogwatch.remote.stacks import frames
from tests.conftest import needs_root
from tests.support import wait_until


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A crontab that somebody left in the first folder of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir(mode=0o755)
    program = folder / "crontab"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return program


def test_the_users_own_program_is_taken(planted: Path) -> None:
    """PATH counts, as everywhere."""
    assert find_program("crontab") == str(planted)


def test_a_program_that_others_can_write_is_passed_over(planted: Path) -> None:
    """The file itself, or the folder it lies in."""
    planted.chmod(0o777)
    assert find_program("crontab") != str(planted)
    planted.chmod(0o755)
    planted.parent.chmod(0o777)
    assert find_program("crontab") != str(planted)


@needs_root
def test_a_program_of_another_user_is_passed_over(planted: Path) -> None:
    os.chown(planted, 12345, 12345)
    assert find_program("crontab") != str(planted)


def test_a_relative_folder_in_path_counts_for_nothing(
    planted: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The folder in which somebody happens to stand may be anybody's."""
    monkeypatch.chdir(planted.parent)
    monkeypatch.setenv("PATH", ".:")
    found = find_program("crontab")
    assert found is None or found.startswith(("/usr/bin/", "/bin/"))


def test_the_recurring_tick_takes_no_module_from_pythonpath(dogwatch, tmp_path: Path, home: Path) -> None:
    """What cron starts is Dogwatch, whatever PYTHONPATH holds."""
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    shown = dogwatch("service", "on", "--print").stdout
    (line,) = [line for line in shown.splitlines() if sys.executable in line][:1]
    words = line[line.index("/usr/bin/env") :]
    subprocess.run(["sh", "-c", words], env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=60)
    assert not (tmp_path / "ran").exists()


def test_a_report_is_not_written_through_a_link(dogwatch, tmp_path: Path) -> None:
    """Nor does a new one become readable for others under an open umask."""
    ran = dogwatch("run", "--name", "short", "--", "true")
    assert ran.returncode == 0, ran.stderr
    target, link = tmp_path / "target", tmp_path / "link.html"
    target.write_text("mine")
    link.symlink_to(target)
    refused = dogwatch("report", "short", "--html", link)
    assert refused.returncode == 2
    assert "link" in refused.stderr
    assert target.read_text() == "mine"
    fresh = tmp_path / "fresh.html"
    assert dogwatch("report", "short", "--html", fresh, umask=0).returncode == 0
    assert fresh.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def of_another_user() -> Iterator[Path]:
    """A folder of another user's that all may read, with programs that tell that they ran."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        for program in ("py-spy", "lfs", "quota", "squeue"):
            path = folder / program
            path.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
            path.chmod(0o755)
            os.chown(path, 12345, 12345)
        os.chown(folder, 12345, 12345)
        folder.chmod(0o755)
        yield folder


@needs_root
def test_a_watched_process_does_not_choose_the_program_that_looks_into_it(of_another_user: Path) -> None:
    """It names itself as it likes: the folder of its argv[0] is no place to take py-spy from."""
    with subprocess.Popen([f"{of_another_user}/python", "60"], executable="/bin/sleep", user=12345) as job:
        try:
            assert not frames.found_spy(job.pid).startswith(str(of_another_user))
        finally:
            job.kill()


@needs_root
def test_quotas_are_asked_of_no_program_of_another_user(of_another_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first folder of PATH is theirs."""
    monkeypatch.setenv("PATH", f"{of_another_user}:{os.environ['PATH']}")
    for name in ("lfs", "quota"):
        limits.output_of([name, "-q"], time.monotonic() + 5)
    assert not (of_another_user / "ran").exists()


@needs_root
def test_a_schedulers_program_is_not_taken_from_a_folder_that_everybody_may_write(of_another_user: Path) -> None:
    """Slurm may belong to a user of its own, but nobody installs it where all others can exchange it."""
    of_another_user.chmod(0o777)
    ran = run_command(["squeue"], {}, [str(of_another_user)], time.monotonic() + 10, 1000)
    assert (ran["rc"], ran["why"]) == (None, "not found")
    assert not (of_another_user / "ran").exists()


def test_the_helper_that_polls_takes_no_module_from_pythonpath(dogwatch, tmp_path: Path) -> None:
    """`ls` without a watcher starts one; the module stands for a hostile sitecustomize, which is loaded unasked."""
    with subprocess.Popen(["sleep", "60"]) as job:
        try:
            assert dogwatch("add", "process", job.pid, "--name", "asleep").returncode == 0
            ran = tmp_path / "ran"
            (tmp_path / "sitecustomize.py").write_text(
                f"import sys\nopen({str(ran)!r}, 'a').write(' '.join(sys.orig_argv) + chr(10))\n"
            )
            dogwatch("ls", env={"PYTHONPATH": str(tmp_path)})
            wait_until(lambda: '"running"' in dogwatch("ls", "--json", "--no-poll").stdout, 60)
        finally:
            job.kill()
    assert "poll_once" not in ran.read_text()


def test_asking_a_python_for_packages_runs_no_module_of_the_jobs_directory(dogwatch, tmp_path: Path) -> None:
    """A json.py there would be the first that `import json` finds."""
    for name in ("json", "re", "os", "time", "importlib"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "train.py").write_text("import signal\n")
    done = dogwatch("preflight", "--cwd", tmp_path, "--require", "json", "--", sys.executable, "train.py")
    assert "interpreter" in done.stdout, done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()
