"""What keeps its id and runs again, and what waits: attempts, reasons, and jobs that cannot start."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.slurm.scenes import WAITING, Scenes
from tests.slurm.watch import Document, Watcher, findings, words

NEVER = "the job it depends on ended in a way that blocks this one forever"
HELD = "held by its owner; it starts when somebody releases it"


@pytest.fixture
def first(scenes: Scenes) -> dict[str, Document]:
    return scenes.first


def test_a_waiting_job_says_why(first, scenes):
    """Slurm's reason in plain words, with the job that it waits for."""
    jobs = scenes.jobs
    assert {name: words(first[name]) for name in WAITING} == {
        "dependent": ("waiting", None, "PENDING", f"{NEVER} (afterok:{jobs['failed']}(failed))"),
        "patient": ("waiting", None, "PENDING", f"it waits for another job (afterok:{jobs['requeued']}(unfulfilled))"),
        "held": ("waiting", None, "PENDING", HELD),
        "too long": ("waiting", None, "PENDING", "it asks for more time than its partition allows"),
        "closed": ("waiting", None, "PENDING", "its partition is down; it starts when an administrator opens it"),
        "limited": ("waiting", None, "PENDING", "its owner already has as many jobs as its QOS allows at once"),
        "later": ("waiting", None, "PENDING", "its begin time has not come"),
    }


def test_when_it_will_start_is_told_as_far_as_slurm_knows(first):
    """A begin time an hour away; of a job that is held nobody knows."""
    later, held = first["later"], first["held"]
    asked = datetime.fromisoformat(later["submitted"] or later["confirmed_at"])
    wait = datetime.fromisoformat(later["expected_start"]) - asked
    assert 3500 < wait.total_seconds() < 3700
    assert held["expected_start"] is None


def test_a_job_that_can_never_start_is_a_finding(first):
    """Critical where nothing can help but a change of the job, a warning where somebody can release it."""
    too_long = "it can never start: it asks for more time than its partition allows"
    assert {name: findings(first[name]) for name in WAITING} == {
        "dependent": {"cannot_start": ("critical", f"it can never start: {NEVER}")},
        "too long": {"cannot_start": ("critical", too_long)},
        "held": {"cannot_start": ("warning", f"it will not start without help: {HELD}")},
        "patient": {},
        "closed": {},
        "limited": {},
        "later": {},
    }


def test_an_array_that_is_half_under_way_runs(first):
    """Two tasks run as its owner allowed, and those that wait are one line of the queue."""
    assert words(first["array"]) == ("running", None, "7 PENDING, 2 RUNNING", "")
    assert first["array"]["tasks"]["states"] == {"running": 2, "waiting": 7}
    assert first["array"]["tasks"]["count"] == 9


@pytest.mark.parametrize("name", ["requeued", "preempted"])
def test_what_is_put_back_is_a_second_attempt_of_the_same_job(scenes, name):
    """By its owner or for a job of a better partition: it was never said to have ended, and its second attempt was
    told once. PREEMPTED is no ending while the job comes back."""
    assert words(scenes.seen[name]) == ("running", None, "RUNNING", "")
    assert scenes.seen[name]["attempts"] == 2
    told = events_of(scenes.watch, scenes.jobs[name])
    assert "ended" not in [event["body"]["after"] for event in told]
    assert [event["body"]["attempt"] for event in told if event["kind"] == "job.attempt"] == [2]


def test_a_released_job_is_no_finding_any_more(scenes):
    """The finding resolves with the hold, and the job runs to its end."""
    held, watch = scenes.jobs["held"], scenes.watch
    watch.lab.run("alice", "scontrol", "release", held, check=True)
    job = watch.until_ended(held)[str(held)]
    assert words(job) == ("ended", "succeeded", "COMPLETED", "")
    assert findings(job) == {}
    (resolved,) = [event for event in watch.events("finding.resolved") if event["ref"] == job["ref"]]
    assert resolved["text"] == f"resolved: it will not start without help: {HELD}"


def events_of(watch: Watcher, job: int) -> list[Document]:
    """Changes of one job, in their order."""
    return [event for event in watch.events("job.state", "job.attempt") if event["ref"] == f"lab/slurm:{job}"]
