"""What three versions of the real Slurm printed, read and judged.

captures/22.05 is our own command lines against a real cluster (names scrubbed), captures/24.11 and 26.05 are tables
of the same kinds of jobs that are turned into our format here, because only the words matter.
"""

from __future__ import annotations

import re

import pytest

from dogwatch.model import Ended, Known, Outcome, Running, Waiting
from dogwatch.sources.slurm import accounting, queue, source, words
from tests.sources.slurm.lines import Watcher, answer, capture, columns, job, record, row

SUBMIT = 1794777442.0
AT = SUBMIT + 60


def judged(queued: str) -> dict[str, Known]:
    """Every job of a captured queue after one poll, by the name it was given."""
    rows = queue.parse(queued)
    assert rows
    return {group[0].name: Watcher(job(id, user=None, submit=None)).look(queued, at=AT) for id, group in rows.items()}


def test_a_real_queue_is_read_whole() -> None:
    """Plain, array, heterogeneous, held, hopeless and hostile names, as 22.05 prints them."""
    known = judged(capture("22.05", "squeue.txt"))
    assert {name: one.native for name, one in known.items() if name != "wrap"} == {
        "ok": "COMPLETED",
        "fail1": "FAILED",
        "exit137": "FAILED",
        "sig9": "FAILED",
        "steps": "COMPLETED",
        "timeout": "RUNNING",
        "badout": "FAILED",
        "cancelrun": "RUNNING",
        "held": "PENDING",
        "arr": "6 PENDING, 2 COMPLETED, 2 RUNNING",
        'na|me\n12\x1fdeadbeef\x1fCOMPLETED, "q" ü': "RUNNING",
        "requeue": "RUNNING",
        "partlimit": "PENDING",
        "down": "PENDING",
        "depnever": "PENDING",
        "het": "2 RUNNING",
    }
    assert isinstance(known["arr"].state, Running)
    assert known["partlimit"].state == Waiting("it asks for more time than its partition allows")


@pytest.mark.parametrize(
    ("id", "outcome", "code", "says"),
    [
        ("1", Outcome.SUCCEEDED, 0, ""),
        ("2", Outcome.FAILED, 1, "exit code 1"),
        ("3", Outcome.FAILED, 9, "exit code 9, or 137"),
        ("5", Outcome.SUCCEEDED, 0, ""),
        ("6", Outcome.TIMED_OUT, None, "it reached its time limit of 1 min"),
        ("7", Outcome.FAILED, None, "could not open its output file"),
        ("8", Outcome.CANCELLED, None, "cancelled by its owner (alice)"),
        ("9", Outcome.CANCELLED, None, "cancelled by its owner (alice)"),
        ("10", Outcome.FAILED, 7, "1 of 10 tasks failed: 3 (exit code 7)"),
        ("11", Outcome.SUCCEEDED, 0, ""),
        ("12", Outcome.SUCCEEDED, 0, ""),
        ("19", Outcome.SUCCEEDED, 0, ""),
    ],
)
def test_real_records_are_judged(id: str, outcome: Outcome, code: int | None, says: str) -> None:
    """Each id was used again by a later job after the controller lost its state: those records are not ours."""
    watcher = Watcher(job(id, submit=SUBMIT + 1 if id == "19" else SUBMIT))
    watcher.look("", capture("22.05", "sacct.txt"), at=AT)
    state = watcher.known.state
    assert isinstance(state, Ended)
    assert (state.outcome, state.exit_code, state.signal) == (outcome, code, None)
    assert says in state.reason
    assert watcher.known.settled


def test_a_real_requeue_is_followed_to_its_last_run() -> None:
    """REQUEUED, then the same job again under its id; and then a stranger's, which is not followed."""
    watcher = Watcher(job("12", submit=SUBMIT))
    watcher.look(capture("22.05", "squeue.txt"), at=AT)
    known = watcher.look("", capture("22.05", "sacct.txt"), at=AT + 120)
    assert (known.attempts, known.native) == (2, "COMPLETED")


def test_a_failed_step_of_a_real_success_is_a_contradiction() -> None:
    """`srun false` in a script that went on."""
    watcher = Watcher(job("5", submit=SUBMIT))
    watcher.look("", capture("22.05", "sacct.txt"), at=AT)
    assert watcher.facts.contradiction == "Slurm says COMPLETED, but its step 5.1 (false) is FAILED 1:0"


def test_a_look_at_a_real_cluster_reads_all_jobs_at_once() -> None:
    """One queue and one accounting for everything."""
    jobs = [job(str(number), submit=SUBMIT, user=None) for number in range(1, 22)]
    both = answer(capture("22.05", "squeue_later.txt"), capture("22.05", "sacct.txt"))
    asked, seen = source.read(both, jobs, {}, AT)
    assert len(asked) == len(seen) == 21
    assert isinstance(seen["lab/slurm:10"].state, Ended)
    assert isinstance(seen["lab/slurm:12"].state, Waiting)


def in_our_format(version: str) -> tuple[str, str]:
    """The tables of another version, put into the lines that our command lines would get."""
    queued = booked = ""
    for line in capture(version, "squeue.txt").split("\n")[1:]:
        if line:
            id, name, state, reason, nodes, _ = line.split("|")
            queued += row(state, id, NodeList=re.sub(r"\(.*\)", "", nodes), Reason=reason, Name=name)
    for found in columns(capture(version, "sacct.txt")):
        more = {"DerivedExitCode": found["DerivedExitCode"], "JobName": found["JobName"]}
        booked += record(found["State"], found["ExitCode"], found["JobID"], **more)
    return queued, booked


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_other_versions_words_are_known(version: str) -> None:
    """Nothing that they print is a word we do not know."""
    queued, booked = in_our_format(version)
    rows, records = queue.parse(queued), accounting.parse(booked)
    assert rows
    assert records
    assert [line.native for group in rows.values() for line in group if not words.known(line.word)] == []
    assert [run.native for runs in records.values() for run in runs if not words.known(run.word)] == []


@pytest.mark.parametrize("version", ["24.11", "26.05"])
@pytest.mark.parametrize(
    ("id", "outcome", "says"),
    [
        ("3", Outcome.FAILED, "killed by SIGKILL"),
        ("4", Outcome.FAILED, "137"),
        ("6", Outcome.OUT_OF_MEMORY, "step 6.0 (python3) ran out of memory (OUT_OF_MEMORY 0:125)"),
        ("7", Outcome.OUT_OF_MEMORY, "it ran out of memory"),
        ("8", Outcome.TIMED_OUT, "it reached its time limit"),
        ("9", Outcome.CANCELLED, "cancelled by root"),
        ("17", Outcome.SUCCEEDED, ""),
    ],
)
def test_other_versions_endings_are_judged(version: str, id: str, outcome: Outcome, says: str) -> None:
    """The same traps, whatever the version."""
    _, booked = in_our_format(version)
    watcher = Watcher(job(id))
    watcher.look("", booked)
    assert isinstance(watcher.known.state, Ended)
    assert watcher.known.state.outcome is outcome
    assert says in watcher.known.state.reason
