"""What the queue has forgotten: the accounting is down, then behind, then wrong, then tells."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest

from tests.lab.lab import Lab
from tests.slurm.watch import Document, Watcher, findings, words
from tests.support import wait_until

WAIT_FOR_GO = "while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.1; done; exit {}"
CODES = {"seen": 0, "lags": 3, "zero": 1, "bad": 137, "repaired": 0}
NOBODY = 900_000
DOWN = (
    "it left the queue, and how it ended is not known: the Slurm accounting (slurmdbd) cannot be reached"
    " (sacct: error: Problem talking to the database: Connection refused)"
)


@dataclass
class Purge:
    """Jobs that ended while slurmdbd was down and that slurmctld has forgotten since; what was said at each poll."""

    watch: Watcher
    jobs: dict[str, int] = field(default_factory=dict)
    said: dict[str, dict[str, Document]] = field(default_factory=dict)

    def look(self, when: str) -> None:
        assert self.watch.patrol().returncode in (0, 1)
        known = self.watch.jobs()
        self.said[when] = {name: known[str(job)] for name, job in self.jobs.items() if str(job) in known}

    def play(self) -> None:
        lab = self.watch.lab
        self.jobs = {name: lab.sbatch("alice", WAIT_FOR_GO.format(code)) for name, code in CODES.items()}
        self.jobs |= {"runs": lab.sbatch("alice", "sleep 600"), "good": lab.sbatch("alice", "true")}
        for name in (*CODES, "runs"):
            lab.wait_accounting(self.jobs[name], "RUNNING")
        for name in ("bad", "runs"):  # the id was somebody else's before, and the same person's long ago
            lab.add_stale_record(self.jobs[name], user="bob")
            lab.add_stale_record(self.jobs[name], user="alice", submitted=time.time() - 7 * 86400)
        lab.wait_accounting(self.jobs["good"], "COMPLETED")
        self.watch.add(*(job for name, job in self.jobs.items() if name != "good"))
        self.look("while they run")
        lab.kill_slurmdbd()
        self._go("seen")
        lab.wait_state(self.jobs["seen"], "COMPLETED")
        self.look("in the queue")
        lab.configure(MinJobAge=2)
        self._go(*(name for name in CODES if name != "seen"))
        for name in (*CODES, "good"):
            lab.wait_purged(self.jobs[name])
        self.look("without accounting")
        self._accounting_comes_back(lab)

    def _accounting_comes_back(self, lab: Lab) -> None:
        lab.start_slurmdbd()
        for name, code in CODES.items():
            lab.wait_accounting(self.jobs[name], "FAILED" if code else "COMPLETED")
        lags = self.jobs["lags"]
        (ending,) = lab.sql(f"SELECT state, time_end FROM lab_job_table WHERE id_job={lags}")
        lab.sql(f"UPDATE lab_job_table SET exit_code=0 WHERE id_job={self.jobs['zero']}")
        long_ago = int(time.time()) - 3600
        repaired = f"time_start={long_ago}, time_end={long_ago}"
        lab.sql(f"UPDATE lab_job_table SET {repaired} WHERE id_job={self.jobs['repaired']}")
        lab.sql(f"UPDATE lab_job_table SET id_job={lags + NOBODY} WHERE id_job={lags}")
        self.watch.add(self.jobs["good"])
        self.watch.adopt(NOBODY)
        self.look("without a record")
        lab.sql(f"UPDATE lab_job_table SET id_job={lags}, state=1, time_end=0 WHERE id_job={lags + NOBODY}")
        self.look("with an old record")
        lab.sql("UPDATE lab_job_table SET state={}, time_end={} WHERE id_job={}".format(*ending, lags))
        self.look("at last")

    def _go(self, *names: str) -> None:
        home = self.watch.lab.home("alice")
        for name in names:
            (home / f"go-{self.jobs[name]}").touch()


@pytest.fixture(scope="module")
def purge(lab: Lab, make_watch) -> Purge:
    lab.heal()
    purge = Purge(make_watch())
    purge.play()
    return purge


def test_what_left_the_queue_waits_for_an_accounting_that_is_down(purge):
    """Missing with the reason; a job that runs is told by the queue all the same."""
    said = purge.said["without accounting"]
    for name in ("lags", "zero", "bad", "repaired"):
        assert words(said[name])[::3] == ("missing", DOWN), name
    assert words(said["runs"]) == ("running", None, "RUNNING", "")


def test_an_ending_in_the_queue_is_taken_and_its_figures_come_later(purge):
    """By the queue's word while slurmdbd is down; what it used is there when that is back; told once."""
    early, late = purge.said["in the queue"]["seen"], purge.said["at last"]["seen"]
    assert words(early) == words(late) == ("ended", "succeeded", "COMPLETED", "")
    assert early["efficiency"] is None
    assert late["efficiency"]["wall_seconds"] > 0
    told = [event for event in purge.watch.events("job.state") if event["ref"] == late["ref"]]
    assert [event["body"]["after"] for event in told] == ["running", "ended"]


def test_an_accounting_that_lags_is_waited_for(purge):
    """No record yet, then one that has not noticed the end; then the end, told once."""
    said = [words(purge.said[when]["lags"]) for when in ("without a record", "with an old record", "at last")]
    assert said == [
        ("missing", None, "RUNNING", "it left the queue, and the accounting has no record of it yet"),
        ("missing", None, "RUNNING", "it left the queue, and the accounting still says RUNNING"),
        ("ended", "failed", "FAILED", "exit code 3"),
    ]
    told = [event for event in purge.watch.events("job.state") if event["ref"] == f"lab/slurm:{purge.jobs['lags']}"]
    assert [event["body"]["after"] for event in told] == ["running", "missing", "ended"]


def test_failed_with_exit_code_zero_is_a_failure(purge):
    """State and code disagree: the worse of the two is believed, and that they do is said."""
    job = purge.said["without a record"]["zero"]
    assert words(job) == ("ended", "failed", "FAILED", "Slurm says FAILED although the exit code is 0")
    assert job["exit_code"] == 0


def test_old_records_of_an_id_are_not_ours(purge):
    """Neither somebody else's nor one's own of last week, for a job that runs or for one that has ended."""
    cut = "exit code 9, or 137 of which Slurm's accounting shows only what is above 128"
    said = purge.said["without a record"]
    assert words(said["bad"]) == ("ended", "failed", "FAILED", cut)
    assert {words(purge.said[when]["runs"]) for when in purge.said} == {("running", None, "RUNNING", "")}


def test_a_record_that_an_administrator_repaired_is_not_believed(purge):
    """COMPLETED with an end at its start, though it was seen running long after: nobody knows, and a finding."""
    repaired = (
        "the accounting says COMPLETED with an end at its start, as an administrator's repair of a lost job leaves it,"
        " but it was seen running long after"
    )
    job = purge.said["without a record"]["repaired"]
    assert words(job) == ("ended", "unknown", "COMPLETED", repaired)
    assert findings(job)["contradiction"] == ("warning", repaired)


def test_a_purged_id_is_found_in_the_accounting_and_one_that_never_was_ends_nothing(purge):
    """Added after Slurm's controller had forgotten it."""
    assert words(purge.said["without a record"]["good"]) == ("ended", "succeeded", "COMPLETED", "")
    nobody = purge.watch.job(NOBODY)
    assert words(nobody) == (None, None, None, "neither the queue nor the accounting lists it yet")


def test_a_single_purged_id_is_no_error_of_the_host(lab, make_watch):
    """squeue says `Invalid job id` and fails when it is asked about one alone."""
    watch = make_watch()
    watch.adopt(NOBODY)
    assert watch.patrol().returncode == 0
    assert watch.job(NOBODY)["reason"] == "neither the queue nor the accounting lists it yet"
    assert watch.place()["unreachable_since"] is None


def test_nothing_was_said_of_what_nobody_knew(purge):
    """Every ending once, and only for jobs that had one."""
    wait_until(lambda: purge.watch.patrol(), timeout=20)
    ended = [event["ref"] for event in purge.watch.events("job.state") if event["body"]["after"] == "ended"]
    assert sorted(ended) == sorted(f"lab/slurm:{purge.jobs[name]}" for name in (*CODES, "good"))
