"""Links that a job puts in the place of its directories between `dogwatch add` and the first poll."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.hosts import Hosts, Person
from tests.security.test_links import SECRET, logs_in, swap


@pytest.fixture
def person(hosts: Hosts, tmp_path: Path) -> Person:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return Person(hosts, home)


@pytest.fixture
def job() -> Iterator[subprocess.Popen[bytes]]:
    """Something to watch."""
    with subprocess.Popen(["sleep", "300"]) as started:
        yield started
        started.kill()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    made = tmp_path / "private"
    made.mkdir()
    for name in ("train.log", "secret.jsonl"):
        (made / name).write_text(f"step 2/10\n{SECRET}\n")
    return made


def polled(person: Person, ref: str) -> str:
    """All that the program says of the job after a poll; nothing of the secret is in it, nor in the home."""
    ran = [person.run("patrol"), person.run("logs", ref), person.run("status", ref, "--json"), person.run("why", ref)]
    words = "\n".join(each.words for each in ran)
    assert "hunter2" not in words
    assert "secret.jsonl" not in words
    for path in person.home.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path
    return words


def test_a_process_cannot_swap_its_folder_before_the_first_poll(
    person: Person, job: subprocess.Popen[bytes], secret: Path, tmp_path: Path
) -> None:
    """A named log and a glob of outputs: both folders are kept by `add` itself."""
    log = logs_in(tmp_path / "job" / "logs")
    added = person.run("add", "process", job.pid, "--log", log, "--output", log.parent / "*.jsonl", "--name", "linked")
    assert added.code == 0, added.words
    swap(log.parent, secret)
    assert f"{log.parent} is now a link to {secret}" in polled(person, "linked")


def test_a_run_cannot_swap_the_folder_of_its_outputs(person: Person, secret: Path, tmp_path: Path) -> None:
    """Its first act is a link in the place of the folder."""
    out = tmp_path / "out"
    out.mkdir()
    script = f"mv {out} {out}.old; ln -s {secret} {out}; exec sleep 300"
    started = person.run("run", "--detach", "--name", "linked", "--output", out / "*.jsonl", "--", "sh", "-c", script)
    assert started.code == 0, started.words
    try:
        assert f"{out} is now a link to {secret}" in polled(person, "linked")
    finally:
        (document,) = json.loads(person.run("status", "linked", "--json").screen)["jobs"]
        for worker in document["workers"]:
            os.kill(worker["pid"], signal.SIGKILL)


def test_a_job_of_a_host_cannot_swap_its_folder_before_the_first_poll(
    person: Person, hosts: Hosts, secret: Path, tmp_path: Path
) -> None:
    """The question that `add` puts to the scheduler asks for the folders too."""
    hosts.tell("")
    assert person.add_host("honest").code == 0
    log = logs_in(tmp_path / "job" / "logs")
    words = ("--name", "linked", "--log", log, "--output-dir", log.parent)
    added = person.run("add", "slurm", "--host", "honest", "12", *words)
    assert added.code == 0, added.words
    swap(log.parent, secret)
    assert f"{log.parent} is now a link to {secret}" in polled(person, "linked")
