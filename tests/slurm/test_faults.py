"""Parts of Slurm fail: no job changes its state by that, a place is dark once, and no ending is made up."""

from __future__ import annotations

import pwd
import time

import pytest

from tests.slurm.watch import Watch, words
from tests.support import wait_until

GONE = "it left the queue, and how it ended is not known: "
WAIT_FOR_GO = "while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.1; done; exit 3"
QUICK = {"MessageTimeout": 2}


def states(watch: Watch) -> dict[str, tuple[object, ...]]:
    return {name: words(job) for name, job in watch.jobs().items()}


def place_findings(watch: Watch, kind: str) -> list[str]:
    return [event["text"] for event in watch.events(kind) if event["body"].get("rule") == "place_dark"]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("stop_slurmctld", "squeue: the Slurm controller did not answer in time"),
        ("kill_slurmctld", "squeue: the Slurm controller cannot be reached"),
        ("stop_munge", "squeue: munge, which Slurm needs to know who asks, does not answer there"),
    ],
)
def test_a_cluster_that_does_not_answer_is_dark_once(watch, fault, why):
    """Exit 3, one finding for the place however many jobs live there, no state changed, and the end of it is told."""
    lab = watch.lab
    lab.configure(**QUICK)
    ids = [lab.sbatch("alice", "sleep 600"), *lab.sbatch_many("alice", 3), lab.sbatch("alice", "exit 3")]
    lab.wait_state(ids[0], "RUNNING")
    watch.add(*ids)
    watch.until_ended(ids[-1])
    before = states(watch)
    _saved(lab, ids[0])
    getattr(lab, fault)()
    # No more looks than it takes: without munge Slurm gives its nodes up after a while, and that is a change.
    assert [watch.patrol().returncode for _ in range(2)] == [3, 3]
    assert states(watch) == before
    assert watch.place()["dark_why"].startswith(why), watch.place()["dark_why"]
    assert [event["place"] for event in watch.events("place.dark")] == ["lab"]
    (text,) = place_findings(watch, "finding.opened")
    assert text.startswith(f"lab does not answer ({why}")
    assert text.endswith("; 4 jobs not confirmed since")
    watch.add(lab_id := ids[0] + 1000)
    assert watch.job(lab_id)["state"] is None
    watch.must("forget", f"lab/slurm:{lab_id}")
    _mend(lab)
    assert watch.patrol().returncode == 0
    assert states(watch) == before
    assert watch.place()["dark_since"] is None
    assert len(watch.events("place.seen")) == 1
    assert len(place_findings(watch, "finding.resolved")) == 1


def _saved(lab, job: int) -> None:
    """What a controller has not saved when it is killed is lost: it saves some seconds after a change."""
    state = lab.directory / "state" / "job_state"
    changed = time.time()
    lab.update(f"JobId={job}", Comment="saved")
    wait_until(lambda: state.exists() and state.stat().st_mtime > changed, timeout=30, pause=0.1)


def _mend(lab) -> None:
    if lab.processes.is_stopped("slurmctld"):
        lab.cont_slurmctld()
    lab.start_munge()
    lab.start_slurmctld()


def test_what_left_the_queue_waits_for_an_accounting_that_is_down(watch):
    """The queue's own word is taken as long as it lasts; then it is missing with the reason, until slurmdbd tells."""
    lab = watch.lab
    lab.configure(MinJobAge=2)
    jobs = {"fails": lab.sbatch("alice", WAIT_FOR_GO), "runs": lab.sbatch("alice", "sleep 600")}
    lab.wait_state(jobs["fails"], "RUNNING")
    lab.wait_state(jobs["runs"], "RUNNING")
    lab.wait_accounting(jobs["fails"], "RUNNING")
    watch.add(*jobs.values())
    watch.patrol()
    lab.kill_slurmdbd()
    (lab.home("alice") / f"go-{jobs['fails']}").touch()
    lab.wait_purged(jobs["fails"])
    assert watch.patrol().returncode == 0
    down = "the Slurm accounting (slurmdbd) cannot be reached"
    state, outcome, _, reason = words(watch.job(jobs["fails"]))
    assert (state, outcome) == ("missing", None)
    assert reason.startswith(GONE + down), reason
    assert words(watch.job(jobs["runs"])) == ("running", None, "RUNNING", "")
    lab.start_slurmdbd()
    job = watch.until_ended(jobs["fails"])[str(jobs["fails"])]
    assert words(job) == ("ended", "failed", "FAILED", "exit code 3")


def test_a_purged_id_is_found_in_the_accounting_and_old_records_are_not_ours(watch):
    """The id was somebody else's before, and the same person's long ago: neither record says anything of our job.
    A number that never was a job's ends nothing."""
    lab = watch.lab
    lab.configure(MinJobAge=2)
    good, bad, running = (lab.sbatch("alice", script) for script in ("true", "sleep 4; exit 137", "sleep 600"))
    lab.wait_state(running, "RUNNING")
    lab.wait_state(bad, "RUNNING")
    for job in (running, bad):
        lab.add_stale_record(job, user="bob")
        lab.add_stale_record(job, user="alice", submitted=time.time() - 7 * 86400)
    watch.add(running, bad)
    watch.patrol()
    assert words(watch.job(running)) == ("running", None, "RUNNING", "")
    lab.wait_accounting(bad, "FAILED")
    lab.wait_purged(good)
    lab.wait_purged(bad)
    watch.add(good, 900_000)
    watch.patrol()
    cut = "exit code 9, or 137 of which Slurm's accounting shows only what is above 128"
    assert words(watch.job(bad)) == ("ended", "failed", "FAILED", cut)
    assert words(watch.job(good)) == ("ended", "succeeded", "COMPLETED", "")
    assert words(watch.job(running)) == ("running", None, "RUNNING", "")
    assert words(watch.job(900_000)) == (None, None, None, "neither the queue nor the accounting lists it yet")


def test_a_single_purged_id_is_no_error_of_the_host(watch):
    """squeue says `Invalid job id` and fails when it is asked about one alone."""
    watch.add(900_000)
    assert watch.patrol().returncode == 0
    assert watch.job(900_000)["reason"] == "neither the queue nor the accounting lists it yet"
    assert watch.place()["dark_since"] is None


def test_a_cluster_without_accounting_is_watched_by_its_queue(watch):
    """An ending is taken from the queue while it shows it; after that nobody knows, and nothing is made up."""
    lab = watch.lab
    with lab.without_accounting():
        seen, unseen = lab.sbatch("alice", "exit 3"), lab.sbatch("alice", "sleep 600")
        lab.wait_state(unseen, "RUNNING")
        watch.add(seen, unseen)
        job = watch.until_ended(seen)[str(seen)]
        assert words(job) == ("ended", "failed", "FAILED", "exit code 3")
        lab.configure(**{**_no_accounting(), "MinJobAge": 2})
        lab.scancel(unseen)
        lab.wait_purged(unseen)
        watch.patrol()
        state, outcome, _, reason = words(watch.job(unseen))
        assert (state, outcome) == ("missing", None)
        assert reason.startswith(GONE + "this cluster keeps no accounting"), reason


def _no_accounting() -> dict[str, object]:
    from tests.lab import conf

    return dict(conf.NO_ACCOUNTING)


def test_a_controller_that_lost_its_state_makes_nobody_a_canceller(watch):
    """The accounting closes the records as CANCELLED and names nobody: that is no cancelled job."""
    lab = watch.lab
    job = lab.sbatch("alice", "sleep 600")
    lab.wait_state(job, "RUNNING")
    lab.wait_accounting(job, "RUNNING")
    watch.add(job)
    watch.patrol()
    uid = pwd.getpwnam("alice").pw_uid
    lab.lose_state()
    state, outcome, native, reason = words(watch.until_ended(job)[str(job)])
    assert (state, outcome, native) == ("ended", "unknown", "CANCELLED")
    assert reason == (
        "the controller no longer knows it: the accounting closed its record as CANCELLED and names nobody"
        " who cancelled it; nobody knows how it ended"
    )
    assert str(uid) not in reason
