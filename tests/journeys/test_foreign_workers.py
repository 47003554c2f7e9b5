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
import argparse, os, sys, time
flags = argparse.ArgumentParser()
flags.add_argument("--worker-id", type=int)
flags.add_argument("--log-file")
flags.add_argument("--items", type=int, default=800)
flags.add_argument("--crash-at", type=int)
flags.add_argument("--crash-file", default="")
flags.add_argument("--hold", default="")
flags.add_argument("rest", nargs="*")
args = flags.parse_args()
log = open(args.log_file, "a", buffering=1) if args.log_file else sys.stdout
for done in range(1, args.items + 1):
    time.sleep(0.05)
    print(f"Processed {done}/{args.items} items", file=log, flush=True)
    if done == args.crash_at or os.path.exists(args.crash_file):
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
    assert "\\x0a" not in asked.stderr
    assert f"--pid {pids[0]} {pids[1]}" in asked.stderr
    assert json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"] == []


def test_the_pids_that_the_question_names_are_taken_as_they_are(dogwatch, spawn, crew: Crew, only_job) -> None:
    """With --pid exactly those are watched, and siblings of the same name do not join, also not later."""
    pids = [crew.start(i) for i in range(3)]
    spawn(*crew.watch("--num-workers", "2", "--pid", str(pids[0]), str(pids[2])))
    wait_until(lambda: running_pids(only_job) == [pids[0], pids[2]])
    crew.start(3)
    looked = only_job()["confirmed_at"]
    wait_until(lambda: only_job()["confirmed_at"] > looked)
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
    refused = dogwatch("add", "process", "--match", crew.name)
    assert (refused.returncode, "2 have it inside another word" in refused.stderr) == (2, True), refused.stderr
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


def test_a_dead_workers_own_stderr_is_quoted_at_once(dogwatch, spawn, crew: Crew, only_job) -> None:
    """Worker 2 crashes while three go on: one critical finding names it and quotes its stderr log, at once."""
    crash = crew.logs / "crash-now"
    pids = [crew.start(i, *(["--crash-file", str(crash)] if i == 2 else [])) for i in range(4)]
    crew.write_pids(pids)
    spawn(*crew.watch("--num-workers", "4", "--total-items", "3200", "--launch-timeout", "2"))
    wait_until(lambda: "all 4 workers" in dogwatch("events").stdout)
    crash.touch()

    def crashed() -> list[dict]:
        crew.reap()
        return [one for one in only_job().get("findings", ()) if one["rule"] == "worker_gone"]

    (finding,) = wait_until(crashed)
    assert finding["level"] == "critical"
    assert f"worker 2 (pid {pids[2]}) crashed" in finding["text"]
    assert "CUDA error: an illegal memory access was encountered (worker_2_stderr.log:" in finding["text"]
    job = only_job()
    assert job["state"] == "running"
    assert [one for one in job["findings"] if one["rule"] == "launch_failed"] == []
    assert "only 3 of 4" not in dogwatch("events").stdout
    shown = dogwatch("logs", job["ref"], "--worker", "2")
    assert shown.returncode == 0, shown.stderr
    assert "illegal memory access" in shown.stdout


def test_the_first_worker_that_died_is_named_at_the_end(dogwatch, spawn, crew: Crew) -> None:
    """The job ends badly because of worker 1, and that is what the last words say."""
    pids = [crew.start(i, "--items", "120", *(["--crash-at", "40"] if i == 1 else [])) for i in range(3)]
    crew.write_pids(pids)
    watching = spawn(*crew.watch("--num-workers", "3", "--total-items", "360"), stdout=subprocess.PIPE)
    for process in crew.started:
        process.wait(30)
    said, _ = watching.communicate(timeout=30)
    assert watching.returncode == 1
    last = said[said.index("ended") :]
    assert "worker 1" in last
    assert "illegal memory access" in last
    assert "worker 0: exit code unknown" not in last


def test_a_worker_that_is_killed_amid_its_work_is_critical(dogwatch, spawn, crew: Crew, only_job) -> None:
    """Nothing in its log says why; that it left its share undone is enough."""
    crew.write_pids([crew.start(i) for i in range(2)])
    spawn(*crew.watch("--num-workers", "2", "--total-items", "1600"))
    wait_until(lambda: (only_job().get("progress") or {}).get("step"))
    crew.started[1].kill()
    crew.started[1].wait()
    (finding,) = wait_until(lambda: [one for one in only_job()["findings"] if one["rule"] == "worker_gone"])
    assert finding["level"] == "critical"
    assert "worker 1" in finding["text"]
    assert "of 800 items" in finding["text"]


def test_a_worker_that_finished_its_share_first_alarms_nobody(dogwatch, spawn, crew: Crew, only_job) -> None:
    """Uneven shares are everyday: whoever counted to its own total has finished."""
    crew.write_pids([crew.start(0, "--items", "30"), crew.start(1)])
    spawn(*crew.watch("--num-workers", "2", "--total-items", "830"))
    crew.started[0].wait(20)
    wait_until(lambda: [one["doing"] for one in only_job().get("workers", ())][:1] == ["gone"])
    assert only_job()["findings"] == []


def test_workers_that_crashed_before_the_watch_began_are_told_with_their_logs(dogwatch, crew: Crew) -> None:
    """The launch script waits five seconds before it starts the monitor; all workers may be dead by then."""
    crew.write_pids([crew.start(i, "--crash-at", "2") for i in range(2)])
    for process in crew.started:
        process.wait(20)
    watched = dogwatch(*crew.watch("--num-workers", "2", "--total-items", "800"))
    assert watched.returncode == 1
    assert "illegal memory access" in watched.stdout


def test_a_worker_that_died_before_the_watch_keeps_its_number(dogwatch, spawn, crew: Crew, only_job) -> None:
    """Worker 1 of three is gone when the watch begins: it is named, and worker 2 is still worker 2."""
    pids = [crew.start(i, *(["--crash-at", "1"] if i == 1 else [])) for i in range(3)]
    crew.write_pids(pids)
    crew.started[1].wait(20)
    spawn(*crew.watch("--num-workers", "3", "--total-items", "1200"))
    found = wait_until(lambda: [one for one in only_job().get("findings", ()) if one["rule"] == "worker_gone"])
    assert f"worker 1 (pid {pids[1]})" in found[0]["text"]
    assert found[0]["level"] == "critical"
    assert [worker["pid"] for worker in only_job()["workers"]] == pids


def test_the_alert_of_a_crash_names_the_worker_and_quotes_its_log(dogwatch, spawn, crew: Crew, receiver) -> None:
    """What arrives at the webhook while the other worker still works: critical, worker 1, the line of its stderr."""
    added = dogwatch("alerts", "add", "webhook", receiver.url)
    assert added.returncode == 0, added.stderr
    crash = crew.logs / "crash-now"
    crew.write_pids([crew.start(0), crew.start(1, "--crash-file", str(crash))])
    spawn(*crew.watch("--num-workers", "2", "--total-items", "1600"))
    wait_until(lambda: "all 2 workers" in dogwatch("events").stdout)
    crash.touch()
    crew.started[1].wait(20)

    def critical() -> list[str]:
        return [json.dumps(got.json) for got in list(receiver.got) if '"critical"' in json.dumps(got.json)]

    alert = wait_until(critical, timeout=30)[0]
    assert "worker 1" in alert
    assert "illegal memory access was encountered (worker_1_stderr.log:" in alert
    assert crew.started[0].poll() is None


def test_logs_without_numbers_belong_to_whoever_writes_them(dogwatch, spawn, crew: Crew, only_job) -> None:
    """alpha.log and beta.log: the crashed worker's own is the one that it had open."""
    crash = crew.logs / "crash-now"
    pids = []
    for name, more in (("alpha", []), ("beta", ["--crash-file", str(crash)])):
        command = [sys.executable, str(crew.script), "--items", "800", *more]
        with (crew.logs / f"{name}.log").open("w") as log:
            crew.started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        pids.append(crew.started[-1].pid)
    spawn(*crew.watch("--pid", *map(str, pids), "--log-pattern", "*.log"))
    wait_until(lambda: [one.get("log") for one in only_job().get("workers", ())][1:] == [str(crew.logs / "beta.log")])
    crash.touch()
    crew.started[1].wait(20)
    (finding,) = wait_until(lambda: [one for one in only_job()["findings"] if one["rule"] == "worker_gone"])
    assert "(beta.log:" in finding["text"]
    assert finding["level"] == "critical"
