"""What keeps its id and runs again, and what waits: attempts, reasons, and jobs that cannot start."""

from __future__ import annotations

import pytest

from tests.slurm.watch import Document, Watch, findings, words

NEVER = "the job that it waits for ended in a way that rules it out"
HELD = "held by its owner; it starts when somebody releases it"


@pytest.fixture(scope="module")
def jobs(long_watch: Watch) -> dict[str, int]:
    """Two jobs that run and are put back, by their owner and by a job of a better partition; and jobs that wait."""
    lab = long_watch.lab
    jobs = {
        "requeued": lab.sbatch("alice", "sleep 600"),
        "preempted": lab.sbatch("bob", "sleep 600", "-p", "low", "-n", "30"),
        "failed": lab.sbatch("alice", "exit 1"),
    }
    for name in ("requeued", "preempted"):
        lab.wait_state(jobs[name], "RUNNING")
    lab.wait_state(jobs["failed"], "FAILED")
    jobs |= {
        "dependent": lab.sbatch("alice", "true", f"--dependency=afterok:{jobs['failed']}"),
        "patient": lab.sbatch("alice", "true", f"--dependency=afterok:{jobs['requeued']}"),
        "held": lab.sbatch("alice", "true", "--hold"),
        "too long": lab.sbatch("alice", "true", "-p", "short", "-t", "10"),
        "closed": lab.sbatch("alice", "true", "-p", "down"),
        "array": lab.sbatch("alice", "sleep 600", "--array=1-9%2"),
    }
    lab.wait_state(f"{jobs['array']}_2", "RUNNING")
    long_watch.add(*jobs.values())
    return jobs


@pytest.fixture(scope="module")
def first(long_watch: Watch, jobs: dict[str, int]) -> dict[str, Document]:
    """The first look that Slurm has made up its mind before."""
    known = long_watch.until(
        lambda seen: findings(seen[str(jobs["dependent"])]) and seen[str(jobs["too long"])]["findings"], timeout=60
    )
    return {name: known[str(job)] for name, job in jobs.items()}


@pytest.fixture(scope="module")
def second(long_watch: Watch, jobs: dict[str, int], first: dict[str, Document]) -> dict[str, Document]:
    """After both were put back and run again; every look on the way is kept in the events."""
    lab = long_watch.lab
    lab.scontrol("requeue", jobs["requeued"])
    lab.sbatch("alice", "sleep 1", "-p", "high", "--exclusive")
    again = [str(jobs[name]) for name in ("requeued", "preempted")]
    known = long_watch.until(
        lambda seen: all(seen[job]["attempts"] == 2 and seen[job]["state"] == "running" for job in again), timeout=90
    )
    return {name: known[str(job)] for name, job in jobs.items()}


def test_a_waiting_job_says_why(first, jobs):
    """Slurm's reason in plain words, with the job that it waits for."""
    why = {name: words(first[name]) for name in ("dependent", "patient", "held", "too long", "closed")}
    assert why == {
        "dependent": ("waiting", None, "PENDING", f"{NEVER} (afterok:{jobs['failed']}(failed))"),
        "patient": ("waiting", None, "PENDING", f"it waits for another job (afterok:{jobs['requeued']}(unfulfilled))"),
        "held": ("waiting", None, "PENDING", HELD),
        "too long": ("waiting", None, "PENDING", "it asks for more time than its partition allows"),
        "closed": ("waiting", None, "PENDING", "its partition is down; it starts when an administrator opens it"),
    }


def test_a_job_that_can_never_start_is_a_finding(first):
    """Critical where nothing can help but a change of the job, a warning where somebody can release it."""
    found = {name: findings(first[name]) for name in ("dependent", "too long", "held", "patient", "closed")}
    too_long = "it can never start as it is: it asks for more time than its partition allows"
    assert found == {
        "dependent": {"cannot_start": ("critical", f"it can never start as it is: {NEVER}")},
        "too long": {"cannot_start": ("critical", too_long)},
        "held": {"cannot_start": ("warning", f"it will not start by itself: {HELD}")},
        "patient": {},
        "closed": {},
    }


def test_an_array_that_is_half_under_way_runs(first):
    """Two tasks run as its owner allowed, and those that wait are one line of the queue."""
    assert words(first["array"]) == ("running", None, "7 PENDING, 2 RUNNING", "")
    assert first["array"]["tasks"]["states"] == {"running": 2, "waiting": 7}
    assert first["array"]["tasks"]["count"] == 9


def test_a_requeue_is_a_second_attempt_of_the_same_job(second, long_watch, jobs):
    """It was never said to have ended, and its second attempt was told once."""
    assert words(second["requeued"]) == ("running", None, "RUNNING", "")
    assert second["requeued"]["attempts"] == 2
    told = events_of(long_watch, jobs["requeued"])
    assert "ended" not in [event["body"]["after"] for event in told]
    assert [event["body"]["attempt"] for event in told if event["kind"] == "job.attempt"] == [2]


def test_preempted_and_put_back_is_a_second_attempt_too(second, long_watch, jobs):
    """PREEMPTED is no ending while the job comes back."""
    assert words(second["preempted"]) == ("running", None, "RUNNING", "")
    told = events_of(long_watch, jobs["preempted"])
    assert "ended" not in [event["body"]["after"] for event in told]
    assert [event["body"]["attempt"] for event in told if event["kind"] == "job.attempt"] == [2]


def test_a_released_job_is_no_finding_any_more(second, long_watch, jobs):
    """The finding resolves with the hold, and the job runs to its end."""
    long_watch.lab.run("alice", "scontrol", "release", jobs["held"], check=True)
    job = long_watch.until_ended(jobs["held"])[str(jobs["held"])]
    assert words(job) == ("ended", "succeeded", "COMPLETED", "")
    assert findings(job) == {}
    (resolved,) = [event for event in long_watch.events("finding.resolved") if event["ref"] == job["ref"]]
    assert resolved["text"] == f"resolved: it will not start by itself: {HELD}"


def events_of(watch: Watch, job: int) -> list[Document]:
    """Changes of one job, in their order."""
    found = [*watch.events("job.state"), *watch.events("job.attempt")]
    return sorted((event for event in found if event["ref"] == f"lab/slurm:{job}"), key=lambda event: event["seq"])
