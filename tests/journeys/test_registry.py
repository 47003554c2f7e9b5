"""The registry and reporting rules that agents follow: `.claude/active_jobs.json` and a recurring poll (seed 000)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.actions.standin import stand_in
from tests.support import wait_until


class Project:
    """A directory with a registry, whose entries are processes that end when a file appears."""

    def __init__(self, dogwatch, directory: Path, cron: dict[str, str]) -> None:
        self._dogwatch, self.directory, self.cron = dogwatch, directory, cron
        self.registry = directory / ".claude" / "active_jobs.json"
        self.registry.parent.mkdir(parents=True)

    def __call__(self, *words: object):
        return self._dogwatch(*words, cwd=self.directory, env=self.cron)

    def entries(self) -> list[dict]:
        return json.loads(self.registry.read_text())

    def write(self, *entries: dict) -> None:
        self.registry.write_text(json.dumps(list(entries), indent=2))


@pytest.fixture
def project(dogwatch, tmp_path: Path) -> Project:
    return Project(dogwatch, tmp_path / "project", stand_in(tmp_path / "stand-in"))


def entry(pid: int, description: str) -> dict:
    told = {"type": "process", "id": str(pid), "host": "localhost", "user": None, "submitted": ""}
    return {**told, "description": description, "last_status": "", "owner": "session-1"}


@pytest.fixture
def worker(tmp_path: Path):
    """A process of somebody else that ends when told to, with the exit code and last words of `script`."""
    import subprocess

    started = []

    def start(name: str, script: str) -> subprocess.Popen[str]:
        body = (
            f"echo working >{tmp_path}/{name}.log; while [ ! -e {tmp_path}/{name}.stop ]; do sleep 0.1; done; {script}"
        )
        started.append(subprocess.Popen(["/bin/sh", "-c", body], text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def test_the_recurring_poll_keeps_the_registry_and_ends_itself(project: Project, worker, tmp_path: Path):
    """New entries are adopted, states brought up to date, what ended is taken out and reported once, and an empty
    registry ends the recurring poll."""
    first = worker("first", "exit 0")
    project.write(entry(first.pid, "embed the corpus"))
    assert "watched as" in project("sync").stdout
    assert project("service", "on", "--yes").returncode == 0
    table = tmp_path / "stand-in" / "table"
    second = worker("second", "exit 0")
    project.write(*project.entries(), entry(second.pid, "evaluate"))
    project("service", "tick")
    assert [one["last_status"] for one in project.entries()] == ["RUNNING", "RUNNING"]
    assert [one["owner"] for one in project.entries()] == ["session-1", "session-1"]
    quiet = project("patrol").stdout
    assert project("patrol").stdout == "", quiet
    (tmp_path / "first.stop").touch()
    first.wait(10)
    wait_until(lambda: project("service", "tick") and len(project.entries()) == 1, timeout=30, pause=0.5)
    said = project("patrol").stdout
    assert "embed the corpus" in said
    assert "evaluate" not in said
    assert "service tick" in table.read_text()
    (tmp_path / "second.stop").touch()
    second.wait(10)
    wait_until(lambda: project("service", "tick") and project.entries() == [], timeout=30, pause=0.5)
    assert not table.exists()


def test_a_host_that_nobody_added_is_still_refused_by_name(project: Project):
    """An unknown host is named, and the entry stays as it is."""
    told = {"type": "slurm", "id": "4242", "host": "elsewhere.example.org", "user": "alice", "submitted": ""}
    project.write({**told, "description": "PTQ", "last_status": "PENDING"})
    done = project("sync")
    assert "elsewhere.example.org" in done.stderr
    assert len(project.entries()) == 1
