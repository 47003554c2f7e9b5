"""Programs that Dogwatch starts by itself are root's or the user's own, wherever PATH leads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.programs import find_program
from tests.conftest import needs_root


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
