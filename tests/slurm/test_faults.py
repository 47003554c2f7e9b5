"""Parts of Slurm fail: no job changes its state by that, a place is unreachable once, and no ending is made up."""

from __future__ import annotations

import pwd
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.lab import conf
from tests.lab.lab import Lab
from tests.slurm.watch import Watcher, words
from tests.support import wait_until

# Soon to say that nobody answers, and slow to give up a node that does not.
QUICK = {"MessageTimeout": 2, "SlurmdTimeout": 300}
GONE = "it left the queue, and how it ended is not known: "
LOST = (
    "the controller no longer knows it: the accounting closed its record as CANCELLED and does not say"
    " who cancelled it; outcome unknown"
)


@dataclass
class Outage:
    """A cluster that fails soon when it fails, with five jobs of which one has ended."""

    watch: Watcher
    jobs: list[int]

    def states(self) -> dict[str, tuple[object, ...]]:
        return {name: words(job) for name, job in self.watch.jobs().items()}

    def findings(self, kind: str) -> list[str]:
        return [event["text"] for event in self.watch.events(kind) if event["body"].get("rule") == "host_unreachable"]


@pytest.fixture(scope="module")
def outage(lab: Lab, make_watch) -> Iterator[Outage]:
    lab.heal()
    lab.configure(**QUICK)
    watch = make_watch()
    ids = [lab.sbatch("alice", "sleep 600"), *lab.sbatch_many("alice", 3), lab.sbatch("alice", "exit 3")]
    lab.wait_state(ids[0], "RUNNING")
    watch.add(*ids)
    watch.until_ended(ids[-1])
    _saved(lab, ids[0])
    yield Outage(watch, ids)
    _mend(lab)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("stop_slurmctld", "squeue: the Slurm controller did not answer in time"),
        ("kill_slurmctld", "squeue: the Slurm controller cannot be reached"),
        ("stop_munge", "squeue: munge (Slurm's authentication) does not answer there"),
    ],
)
def test_a_cluster_that_does_not_answer_is_dark_once(outage, fault, why):
    """Exit 3, one finding for the place however many jobs live there, no state changed, and the end of it is told."""
    watch, before = outage.watch, outage.states()
    told = {kind: len(watch.events(kind)) for kind in ("place.unreachable", "place.answered")}
    found = {kind: len(outage.findings(kind)) for kind in ("finding.opened", "finding.resolved")}
    getattr(watch.lab, fault)()
    assert [watch.patrol().returncode for _ in range(2)] == [3, 3]
    assert outage.states() == before
    assert watch.place()["unreachable_why"].startswith(why), watch.place()["unreachable_why"]
    assert [event["place"] for event in watch.events("place.unreachable")[told["place.unreachable"] :]] == ["lab"]
    (text,) = outage.findings("finding.opened")[found["finding.opened"] :]
    assert text.startswith(f"lab does not answer ({why}")
    assert text.endswith("; 4 jobs could not be checked since")
    _mend(watch.lab)
    assert watch.patrol().returncode == 0
    assert outage.states() == before
    assert watch.place()["unreachable_since"] is None
    assert len(watch.events("place.answered")) == told["place.answered"] + 1
    assert len(outage.findings("finding.resolved")) == found["finding.resolved"] + 1


def _saved(lab: Lab, job: int) -> None:
    """What a controller has not saved when it is killed is lost: it saves some seconds after a change."""
    state = lab.directory / "state" / "job_state"
    changed = time.time()
    lab.update(f"JobId={job}", Comment="saved")
    wait_until(lambda: state.exists() and state.stat().st_mtime > changed, timeout=30, pause=0.1)


def _mend(lab: Lab) -> None:
    if lab.processes.is_stopped("slurmctld"):
        lab.cont_slurmctld()
    lab.start_munge()
    lab.start_slurmctld()


def test_a_cluster_without_accounting_is_watched_by_its_queue(watch):
    """An ending is taken from the queue while it shows it. After that it is missing, and when five minutes have passed
    nobody knows how it ended: what its log claims decides, and it is said that the exit status is unknown."""
    lab = watch.lab
    with lab.without_accounting():
        seen = lab.sbatch("alice", "exit 3")
        gate = lab.home("alice") / "unseen-may-end"
        gate.unlink(missing_ok=True)
        script = f"echo Training complete; while [ ! -e {gate} ]; do sleep 0.1; done"
        unseen = lab.sbatch("alice", script, "-o", "unseen.log")
        lab.wait_state(unseen, "RUNNING")
        watch.add(seen, unseen)
        assert words(watch.until_ended(seen)[str(seen)]) == ("ended", "failed", "FAILED", "exit code 3")
        lab.configure(**{**conf.NO_ACCOUNTING, "MinJobAge": 2})
        gate.touch()
        lab.wait_purged(unseen)
        watch.patrol()
        none = "this cluster keeps no accounting (Slurm accounting storage is disabled)"
        assert words(watch.job(unseen))[::3] == ("missing", f"{GONE}{none}")
        watch.look_later(400.0)
    job = watch.job(unseen)
    assert words(job)[:3] == ("ended", "completed", "RUNNING")
    assert job["ended_as"] == "unknown"
    assert job["reason"].startswith("its log says: Training complete; nothing recorded its exit status")
    assert [(evidence["by"], evidence["says"]) for evidence in job["evidence"]][1:] == [
        ("log", "it says: Training complete")
    ]


def test_a_controller_that_lost_its_state_makes_nobody_a_canceller(watch):
    """The accounting closes the records as CANCELLED and does not say who: that is no cancelled job. Nor is a later job
    that gets one of their ids one of them."""
    lab = watch.lab
    ours, reused = (lab.sbatch("alice", "sleep 600", "-J", "same") for _ in range(2))
    for job in (ours, reused):
        lab.wait_state(job, "RUNNING")
        lab.wait_accounting(job, "RUNNING")
    watch.add(ours, reused)
    watch.patrol()
    lab.write_conf({"FirstJobId": reused})
    lab.lose_state()
    assert lab.sbatch("alice", "sleep 600", "-J", "same", "--hold") == reused
    seen = watch.until_ended(ours, reused)
    assert {words(seen[str(job)]) for job in (ours, reused)} == {("ended", "unknown", "CANCELLED", LOST)}
    assert str(pwd.getpwnam("alice").pw_uid) not in LOST
    assert seen[str(reused)]["attempts"] == 1
