"""Workers that somebody else started: which processes are they, and what is said when one of them dies."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wait_until

WORKER = """
import argparse, sys, time
flags = argparse.ArgumentParser()
flags.add_argument("--worker-id", type=int)
flags.add_argument("--log-file")
flags.add_argument("--items", type=int, default=400)
flags.add_argument("--crash-at", type=int)
flags.add_argument("--hold", default="")
flags.add_argument("rest", nargs="*")
args = flags.parse_args()
log = open(args.log_file, "a", buffering=1) if args.log_file else sys.stdout
for done in range(1, args.items + 1):
    time.sleep(0.05)
    print(f"Processed {done}/{args.items} items", file=log, flush=True)
    if done == args.crash_at:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
"""


class Crew:
    """Workers in the layout of the launch script that people use: a log, stdout and stderr for each, and a pid file."""

    def __init__(self, folder: Path) -> None:
        self.name = f"crew{uuid.uuid4().hex[:8]}"
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True)
        self.script = folder / f"{self.name}.py"
        self.script.write_text(WORKER)
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, worker: int, *more: str, script: Path | None = None) -> int:
        command = [sys.executable, str(script or self.script), "--worker-id", str(worker)]
        command += ["--log-file", str(self.logs / f"worker_{worker}.log"), *more]
        out, err = (self.logs / f"worker_{worker}_{stream}.log" for stream in ("stdout", "stderr"))
        with out.open("w") as stdout, err.open("w") as stderr:
            self.started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr))
        return self.started[-1].pid

    def write_pids(self, pids: list[int]) -> None:
        (self.logs / "worker_pids.txt").write_text(" ".join(map(str, pids)) + "\n")

    def watch(self, *more: str) -> list[str]:
        where = ["--job-name", self.name, "--log-dir", str(self.logs), "--check-interval", "1"]
        return ["watch", *where, *more]

    def reap(self) -> None:
        for process in self.started:
            process.poll()


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    made = Crew(tmp_path / "crew")
    yield made
    for process in made.started:
        process.kill()
        process.wait()


@pytest.fixture
def only_job(dogwatch):
    def job() -> dict:
        listed = json.loads(dogwatch("ls", "--json", "--all").stdout)["jobs"]
        return json.loads(dogwatch("status", listed[0]["ref"], "--json").stdout)["jobs"][0] if listed else {}

    return job


def running_pids(only_job) -> list[int]:
    job = only_job()
    return [worker["pid"] for worker in job["workers"]] if job.get("state") == "running" else []


def test_more_processes_than_expected_is_a_question_with_the_list(dogwatch, crew: Crew) -> None:
    """Six processes have the job's name where two are expected: they are listed, nothing is registered, exit 2."""
    pids = [crew.start(i) for i in range(6)]
    asked = dogwatch(*crew.watch("--num-workers", "2"))
    assert asked.returncode == 2, asked.stderr
    assert "6 processes, where 2 are expected" in asked.stderr
    for pid in pids:
        assert any(str(pid) in line and f"{crew.name}.py --worker-id" in line for line in asked.stderr.splitlines())
    assert f"--pid {pids[0]} {pids[1]}" in asked.stderr
    assert json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"] == []


def test_the_pids_that_the_question_names_are_taken_as_they_are(dogwatch, spawn, crew: Crew, only_job) -> None:
    """With --pid exactly those are watched, and siblings of the same name do not join, also not later."""
    pids = [crew.start(i) for i in range(3)]
    spawn(*crew.watch("--num-workers", "2", "--pid", str(pids[0]), str(pids[2])))
    wait_until(lambda: running_pids(only_job) == [pids[0], pids[2]])
    crew.start(3)
    looked = only_job()["proved_at"]
    wait_until(lambda: only_job()["proved_at"] > looked)
    assert running_pids(only_job) == [pids[0], pids[2]]


def test_a_pid_file_is_taken_as_it_is(dogwatch, spawn, crew: Crew, only_job) -> None:
    """Siblings of the same name that the pid file does not list do not join; its order numbers the workers."""
    pids = [crew.start(i) for i in (1, 0)]
    crew.write_pids(pids)
    for i in range(2, 6):
        crew.start(i)
    spawn(*crew.watch("--num-workers", "2"))
    wait_until(lambda: running_pids(only_job) == pids)


def test_a_name_inside_another_word_is_not_the_job(dogwatch, spawn, crew: Crew, tmp_path: Path, only_job) -> None:
    """pre-NAME.py, a directory called NAME-data, a shell, an editor and a tail that name the script are no workers."""
    other = tmp_path / f"pre-{crew.name}.py"
    other.write_text(WORKER)
    crew.start(7, script=other)
    crew.start(8, "--hold", f"/data/{crew.name}-data", script=tmp_path / other)
    onlookers = [["tail", "-f", str(crew.script)], ["sh", "-c", f"sleep 60; : {crew.name}", crew.name]]
    for argv in onlookers:
        crew.started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, start_new_session=True))
    worker = crew.start(0)
    spawn(*crew.watch())
    wait_until(lambda: running_pids(only_job) == [worker])


@pytest.mark.needs_root
def test_other_users_processes_are_taken_only_when_asked_for(dogwatch, spawn, crew: Crew, only_job) -> None:
    """A worker of another user with the same name is named in the refusal, and --user takes it."""
    theirs = subprocess.Popen([crew.name, "60"], executable="/bin/sleep", user="nobody", stdout=subprocess.DEVNULL)
    crew.started.append(theirs)
    refused = dogwatch("add", "process", "--match", crew.name)
    assert refused.returncode == 2
    assert str(theirs.pid) in refused.stderr
    assert "--user" in refused.stderr
    taken = dogwatch("add", "process", "--match", crew.name, "--user", "nobody", "--json")
    assert taken.returncode == 0, taken.stderr


def test_a_number_that_does_not_fit_the_pids_is_refused(dogwatch, crew: Crew) -> None:
    """Two pids for four workers is a mistake that is said at once."""
    pids = [crew.start(i) for i in range(2)]
    refused = dogwatch(*crew.watch("--num-workers", "4", "--pid", *map(str, pids)))
    assert refused.returncode == 2
    assert "2 pids were given and 4 workers are expected" in refused.stderr


def test_workers_have_the_numbers_they_were_given(dogwatch, spawn, crew: Crew, only_job) -> None:
    """Started in any order and with one missing, the one with --worker-id 3 is worker 3."""
    pids = {i: crew.start(i) for i in (3, 1, 0)}
    spawn(*crew.watch("--num-workers", "4", "--launch-timeout", "3"))
    wait_until(lambda: len(running_pids(only_job)) == 3)
    assert {worker["index"]: worker["pid"] for worker in only_job()["workers"]} == pids
    missing = wait_until(lambda: [one["text"] for one in only_job()["findings"] if one["rule"] == "launch_failed"])
    assert "only 3 of 4 workers started" in missing[0]
    assert "missing: 2" in missing[0]
