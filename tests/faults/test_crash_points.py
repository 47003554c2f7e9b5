"""SIGKILL at single system calls: of `run`, of the supervisor it starts, and of `patrol`, wherever they write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from dogwatch.store.rows import events as history
from dogwatch.store.rows import jobs as rows
from dogwatch.store.sqlite.location import open_store
from tests.conftest import needs_tool
from tests.faults.scene import jobs
from tests.support import wait_until

pytestmark = needs_tool("strace")

# (system call, its how-manieth in whichever process comes to it first). The supervisor's are among them.
IN_RUN = [
    *(("pwrite64", n) for n in (8, 9, 10, 16, 29, 30, 31)),
    *(("write", n) for n in range(1, 7)),
    *(("fsync", n) for n in range(1, 7)),
    *(("fdatasync", n) for n in range(1, 6)),
    *(("rename", 1), ("renameat", 1), ("renameat", 2), ("linkat", 1), ("mkdir", 1), ("mkdir", 2)),
    *(("vfork", 1), ("execve", 2)),
]
IN_PATROL = [
    *(("pwrite64", n) for n in (9, 10, 20, 39, 40, 46, 47)),
    *(("write", n) for n in range(1, 5)),
    *(("fdatasync", n) for n in range(1, 6)),
    *(("unlink", 2), ("ftruncate", 2)),
]


def killed_at(call: str, when: int, words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a verb whose `when`-th system call of that name is its last, in it and in whatever it starts."""
    inject = f"inject={call}:signal=SIGKILL:when={when}"
    trace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
    command = [*trace, sys.executable, "-m", "dogwatch", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_a_run_killed_at_any_write_is_registered_and_true_or_never_ran(
    dogwatch, environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    """No worker without its job, no job with a wrong ending, and a store that is whole after every kill."""
    dogwatch("ls")
    told = {}
    for call, when in IN_RUN:
        name = f"{call}-{when}"
        words = ["run", "--detach", "--name", name, "--", "touch", str(tmp_path / name)]
        told[name] = killed_at(call, when, words, environment)
    assert sum(done.returncode != 0 for done in told.values()) > len(told) / 2
    with open_store(str(home)) as store:
        assert store.check() == []
        assert store.damaged_events() == []
    wait_until(lambda: not any(settling(dogwatch)))
    for name, job in jobs(dogwatch).items():
        ran = (tmp_path / name).exists()
        match job["state"], job["outcome"]:
            case ("ended", "succeeded"):
                assert ran, name
            case ("ended", "failed"):
                assert job["signal"] == 9 or (job["native"] == "never started" and not ran), (name, job["reason"])
            case ("ended", "unknown"):
                assert "supervisor was killed" in job["reason"], name
            case other:
                raise AssertionError((name, other))
    assert jobs(dogwatch)["vfork-1"]["reason"].startswith("never started")
    unregistered = set(told) - set(jobs(dogwatch))
    assert [name for name in unregistered if (tmp_path / name).exists()] == []
    assert [name for name in unregistered if told[name].returncode == 0] == []
    assert [name for name in unregistered for run in home.glob(f"runs/{name}-*/supervisor.json")] == []


def settling(dogwatch) -> list[str]:
    """Jobs that a patrol has not yet found ended, those that never began included."""
    dogwatch("patrol")
    return [name for name, job in jobs(dogwatch).items() if job["state"] != "ended"]


def told_by_patrol(dogwatch, environment: dict[str, str]) -> str:
    """What a patrol says, once nothing is left that has not ended; beside that, it may come within the floor."""
    said = dogwatch("patrol", "--heartbeat", env=environment).stdout
    return said if "0 jobs watched" in said else ""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a job that has ended and that nobody has looked at since."""
    home = tmp_path_factory.mktemp("ended") / "home"
    home.mkdir(mode=0o700)
    environment = {**os.environ, "DOGWATCH_HOME": str(home)}
    command = [sys.executable, "-m", "dogwatch", "run", "--detach", "--name", "bad", "--", "sh", "-c", "exit 3"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    wait_until(lambda: list(home.glob("runs/*/worker-0.end.json")))
    return home


def test_a_patrol_killed_at_any_write_records_the_ending_once_and_says_it(
    dogwatch, environment: dict[str, str], ended: Path, tmp_path: Path
) -> None:
    """However it is killed: one event, the right outcome, and the change is told by this patrol or the next."""
    for call, when in IN_PATROL:
        home = tmp_path / f"{call}-{when}"
        shutil.copytree(ended, home)
        home.chmod(0o700)
        there = {**environment, "DOGWATCH_HOME": str(home)}
        said = killed_at(call, when, ["patrol"], there).stdout
        said += wait_until(partial(told_by_patrol, dogwatch, there))
        assert "new \u2192 ended, failed" in said, (call, when)
        with open_store(str(home)) as store:
            assert store.check() == []
            found = [event["body"]["outcome"] for event in history.read(store) if event["kind"] == "job.state"]
            (job,) = rows.documents(store, everything=True)
        assert found == ["failed"], (call, when)
        assert (job["state"], job["outcome"], job["exit_code"]) == ("ended", "failed", 3)
