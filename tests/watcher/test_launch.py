"""The first minute of an attempt: what shows that it has begun, after how long, and what is said when it has not."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dogwatch.model import Ended, Expectation, Gpu, GpuProcess, Job, Known, Outcome, Running, Worker
from dogwatch.model.gpu import Stray
from dogwatch.rules import worker_gone
from dogwatch.rules.interface import Case
from dogwatch.store.rows.tick import Event
from dogwatch.watcher.job import launch as launching
from dogwatch.watcher.job.launch import LaunchEvidence
from dogwatch.watcher.job.memory import Memory
from tests.support import wait_until

BEGAN = 1000.0
JOB = Job("here/process:x", "here", "process", "x", "x", expect=Expectation(workers=2))
LOGGED = replace(JOB, track={"logs": ["/l/0.log", "/l/1.log"]})
RUNNING = Known(Running(BEGAN))
TWO = tuple(Worker(n, "running", pid=10 + n, started=BEGAN + 0.4 * n, log=f"/l/{n}.log") for n in range(2))
NOTHING = LaunchEvidence(TWO, {}, {}, output=False, step=False)
OURS = GpuProcess(10, ours=True)
CAUSE = {
    "cause": "missing_module",
    "title": "a module is missing",
    "evidence": [{"file": "/l/1.log", "line": 7, "text": "ModuleNotFoundError: No module named 'flashy'"}],
}


def no_cause(_: Worker) -> None:
    return None


class Launch:
    """One attempt, looked at again and again."""

    def __init__(self, job: Job = JOB, first_look: float = 1.0) -> None:
        self.job, self.memory, self.at = job, Memory(), BEGAN + first_look

    def look(
        self, signs: LaunchEvidence, seconds: float = 0.0, known: Known = RUNNING, why: Any = no_cause
    ) -> list[Event]:
        self.at += seconds
        self.memory.age += seconds
        return launching.advance(self.memory, self.job, known, signs, BEGAN, self.at, why)

    @property
    def document(self) -> Any:
        told = launching.document(self.memory)
        assert told is not None
        return told

    def seconds(self) -> dict[str, float]:
        return {check["what"]: check["seconds"] for check in self.document["checks"] if check["ok"]}


def test_a_launch_is_verified_when_all_that_can_be_asked_was_seen():
    """With the time of each; the workers say theirs exactly, the rest is when it was first seen."""
    launch = Launch(LOGGED)
    assert launch.look(NOTHING) == []
    assert launch.look(replace(NOTHING, logs={"/l/0.log": 10, "/l/1.log": 0}), 3) == []
    (event,) = launch.look(replace(NOTHING, logs={"/l/0.log": 30, "/l/1.log": 5}), 3)
    assert (event.kind, event.text) == ("launch.verified", "all 2 workers started (logs within 7 s)")
    assert event.body == {"seconds": {"workers": 0.4, "logs": 7.0}, "missing": []}
    assert launch.document["state"] == "verified"
    assert launch.look(NOTHING, 3) == []


def test_first_output_and_first_step_are_added_when_they_come():
    """Nobody waits for them: a launch is none the worse for a long compilation."""
    job = replace(JOB, expect=Expectation(workers=2, outputs=("/out/*.json",)))
    launch = Launch(job)
    (event,) = launch.look(replace(NOTHING, writable={"/out": True}))
    assert event.kind == "launch.verified"
    assert launching.is_open(launch.memory)
    launch.look(replace(NOTHING, writable={"/out": True}, output=True, step=True), 299)
    assert launch.seconds() == {"workers": 0.4, "output directory": 1.0, "first output": 300.0, "first step": 300.0}
    assert not launching.is_open(launch.memory)


def test_a_worker_that_ends_at_once_fails_the_launch_with_its_cause():
    """Which worker, after how long, how, and the line of its own log that shows why; the finding says so too."""
    launch = Launch(LOGGED)
    launch.look(NOTHING)
    gone = replace(TWO[1], doing="gone", ended=BEGAN + 3.4, outcome="failed", exit_code=1, reason="exit code 1")
    signs = replace(NOTHING, workers=(TWO[0], gone))
    (event,) = launch.look(signs, 3, why=lambda worker: CAUSE if worker is gone else None)
    likely = "likely missing_module: a module is missing (1.log:7: ModuleNotFoundError: No module named 'flashy')"
    assert event.text == f"worker 1 ended 3 s after its start: exit code 1; {likely}"
    assert (event.kind, event.level, event.body["worker"]) == ("launch.failed", "critical", 1)
    assert launch.document["state"] == "failed"
    case = Case(launch.job, RUNNING, tuple(signs.workers), lost_at_launch=launching.lost_worker(launch.memory))
    (finding,) = worker_gone.judge(case, 0.0)
    assert finding.text == f"worker 1 (pid 11) crashed after 3 s; 1 other worker still running: exit code 1; {likely}"


def test_workers_that_never_come_fail_the_launch_when_its_time_is_over():
    """Not before, and then with their numbers."""
    launch = Launch()
    one = replace(NOTHING, workers=TWO[:1])
    assert launch.look(one) == []
    assert launch.look(one, 58) == []
    (event,) = launch.look(one, 1)
    assert (event.kind, event.text) == ("launch.failed", "only 1 of 2 workers started (missing: 1)")


def test_what_was_not_seen_in_time_is_said_and_may_still_come():
    """An empty log is no failure, and no evidence either."""
    launch = Launch(LOGGED)
    launch.look(NOTHING)
    (event,) = launch.look(replace(NOTHING, logs={"/l/0.log": 9, "/l/1.log": 0}), 60)
    assert (event.kind, event.text) == ("launch.unproven", "after 61 s the log 1.log is empty")
    assert event.body["missing"] == ["logs"]
    assert launch.look(NOTHING, 10) == []
    (event,) = launch.look(replace(NOTHING, logs={"/l/0.log": 9, "/l/1.log": 4}), 10)
    assert (event.kind, launch.document["state"]) == ("launch.verified", "verified")
    assert launch.seconds()["logs"] == 81.0


def test_what_came_while_nobody_looked_took_as_long_as_that_may_have_been():
    """An hour without a watcher: the log may have begun at any moment of it."""
    launch = Launch(LOGGED)
    launch.look(NOTHING)
    launch.at += 3600
    launch.look(replace(NOTHING, logs={"/l/0.log": 9, "/l/1.log": 4}), 2)
    assert launch.seconds()["logs"] == 3603.0


def test_a_directory_that_takes_no_file_is_named():
    """Unless a file is there, which is the better evidence."""
    job = replace(JOB, expect=Expectation(workers=2, outputs=("/out/*.json",)))
    launch = Launch(job)
    launch.look(replace(NOTHING, writable={"/out": False}))
    (event,) = launch.look(replace(NOTHING, writable={"/out": False}), 60)
    assert event.text == "after 61 s /out cannot be written to by the user who watches"
    written = Launch(job)
    assert written.look(replace(NOTHING, writable={"/out": False}, output=True))[0].kind == "launch.verified"


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT])
def test_a_job_without_processes_here_that_ends_at_once_has_failed_to_launch(outcome):
    """A batch job: its state is the sign, its ending the evidence."""
    job = replace(JOB, source="slurm", expect=Expectation(logs=("/l/slurm-7.out",)))
    signs = replace(NOTHING, workers=())
    launch = Launch(job)
    assert launch.look(signs) == []
    ended = Known(Ended(outcome, 1, None, BEGAN + 5, "exit code 1"))
    (event,) = launch.look(signs, 5, ended)
    assert (event.kind, event.text) == ("launch.failed", "it ended after 6 s: exit code 1")


def test_what_ends_later_while_nobody_looked_has_not_failed_to_launch():
    """Seen once after a second, then not for hours: the ending is no news of the launch."""
    launch = Launch(LOGGED)
    launch.look(NOTHING)
    gone = replace(TWO[1], doing="gone", ended=BEGAN + 7200, outcome="failed", exit_code=1, reason="exit code 1")
    launch.at += 9000
    assert launch.look(replace(NOTHING, workers=(TWO[0], gone))) == []
    assert launch.document["state"] == "unseen"


def test_a_job_that_is_done_before_its_time_is_over_was_launched():
    """Short jobs are verified by their success."""
    launch = Launch(LOGGED)
    (event,) = launch.look(NOTHING, 2, Known(Ended(Outcome.SUCCEEDED, 0, None, BEGAN + 2)))
    assert event.kind == "launch.verified"


def test_a_launch_that_nobody_watched_is_not_judged():
    """What was running for an hour when it was first seen: no time can be given, and none is."""
    launch = Launch(LOGGED, first_look=3600.0)
    (event,) = launch.look(NOTHING)
    assert (event.kind, event.text) == ("launch.verified", "all 2 workers were running already")
    assert (launch.document["state"], launch.document["checks"]) == ("unseen", [])
    batch = Launch(replace(JOB, source="slurm", expect=Expectation()), first_look=3600.0)
    assert batch.look(replace(NOTHING, workers=())) == []
    assert not launching.is_open(batch.memory)


def test_gpus_count_where_they_can_be_read():
    """On its own, and at work; where nobody can read them nothing is held back for them for long."""
    given = tuple(replace(worker, gpu=str(worker.index)) for worker in TWO)
    signs = replace(NOTHING, workers=given)
    launch = Launch()
    assert launch.look(signs) == []
    assert launch.look(signs, launching.GPU_WAIT)[0].kind == "launch.verified"

    launch = Launch()
    idle = replace(signs, gpus=(Gpu(0, used=0.0, processes=(OURS,)),), strays=())
    assert launch.look(idle) == []
    busy = replace(signs, gpus=(Gpu(0, used=0.7, processes=(OURS,)),), strays=())
    (event,) = launch.look(busy, 20)
    assert event.body["seconds"] == {"workers": 0.4, "gpus": 1.0, "gpu use": 21.0}

    launch = Launch()
    astray = replace(busy, strays=(Stray(1, "1", 3, 5.0),))
    launch.look(astray)
    (event,) = launch.look(astray, 60)
    assert (event.kind, event.text) == ("launch.unproven", "after 61 s worker 1 is on GPU 3 instead of 1")


def test_the_record_survives_a_restart_and_a_new_attempt_has_its_own():
    """It is part of the memory that is saved with every event."""
    launch = Launch(LOGGED)
    launch.look(NOTHING)
    launch.memory = Memory.from_json(json.loads(json.dumps(launch.memory.to_json())))
    launch.look(replace(NOTHING, logs={"/l/0.log": 1, "/l/1.log": 1}), 4)
    assert launch.seconds() == {"workers": 0.4, "logs": 5.0}
    launch.memory.begin(BEGAN)
    assert launching.document(launch.memory) is None
    assert launching.is_open(launch.memory)


def test_a_real_run_is_verified_with_times(dogwatch, spawn, tmp_path: Path):
    """Two workers that print and write: the event, `status` and its JSON have each of them."""
    script = f"echo hello; sleep 1; echo 1 > {tmp_path}/out-$DOGWATCH_WORKER.json; sleep 600"
    started = dogwatch(
        *("run", "--detach", "--workers", 2, "--name", "crew", "--output", f"{tmp_path}/out-*.json"),
        *("--", "sh", "-c", script),
    )
    assert started.returncode == 0, started.stderr
    spawn("daemon")

    def told() -> dict[str, Any]:
        (job,) = json.loads(dogwatch("status", "crew", "--json").stdout)["jobs"]
        return job["launch"] or {}

    def all_seen() -> bool:
        return {"workers", "logs", "first output"} <= {c["what"] for c in told().get("checks", ()) if c["ok"]}

    wait_until(all_seen)
    launch = told()
    assert launch["state"] == "verified"
    assert all(0 <= check["seconds"] < 60 for check in launch["checks"])
    shown = dogwatch("status", "crew").stdout
    assert "launch" in shown
    assert "verified: workers" in shown
    events = json.loads(dogwatch("events", "--json").stdout)["events"]
    (event,) = [one for one in events if one["kind"] == "launch.verified"]
    assert event["body"]["seconds"]["workers"] < 10


def test_a_real_worker_that_cannot_import_is_a_failed_launch_with_its_line(dogwatch, spawn, home: Path):
    """Known at the next poll, not after the launch timeout, while the other worker goes on."""
    script = (
        "import os, time\nif os.environ['DOGWATCH_WORKER'] == '1':\n    import no_such_package_at_all\ntime.sleep(600)"
    )
    started = dogwatch("run", "--detach", "--workers", 2, "--name", "crew", "--", sys.executable, "-c", script)
    assert started.returncode == 0, started.stderr
    spawn("daemon")

    def failed() -> list[dict[str, Any]]:
        events = json.loads(dogwatch("events", "--json").stdout)["events"]
        return [one for one in events if one["kind"] == "launch.failed"]

    (event,) = wait_until(failed)
    assert event["body"]["worker"] == 1
    assert event["body"]["diagnosis"]["cause"] == "missing_module"
    assert "No module named 'no_such_package_at_all'" in event["text"]
    (job,) = json.loads(dogwatch("status", "crew", "--json").stdout)["jobs"]
    assert job["state"] == "running"
    assert job["launch"]["state"] == "failed"
    assert any("likely missing_module" in finding["text"] for finding in job["findings"])
