"""Findings about what has not happened yet: a disk that will fill, a checkpoint that is late."""

from __future__ import annotations

import pytest

from dogwatch.model import Ended, Eta, Facts, Job, Known, Level, Outcome, Running
from dogwatch.rules import checkpoint_overdue, disk_fills, memory_fills
from dogwatch.rules.interface import Case, Held

NOW = 1_000_000.0


def case(state=None, **known) -> Case:
    state = Running(NOW - 7200) if state is None else state
    job = Job("here/process:x", "here", "process", "x", "x")
    return Case(job=job, known=Known(state=state), **known)


def test_a_disk_that_fills_before_the_end_is_told_with_both_times():
    """How long it lasts, and by how much the job outlives it."""
    filling = {("/scratch", "bytes"): 3600.0}
    (found,) = disk_fills.judge(case(eta=Eta(4 * 3600.0, 3 * 3600.0, 5 * 3600.0, 0.9), gone_in=filling), NOW)
    assert "/scratch will have no bytes left in about 60 min, about 3.0 h before the job is done" in found.text


@pytest.mark.parametrize(
    ("seconds", "eta", "told"),
    [(3600.0, 1800.0, False), (3600.0, 4000.0, False), (3600.0, None, True), (8 * 3600.0, None, False)],
)
def test_a_disk_that_lasts_is_not_told(seconds, eta, told):
    """Nor one that only just might not; without an estimate the next hours are looked at."""
    left = None if eta is None else Eta(eta, eta * 0.8, eta * 1.2, 0.9)
    assert bool(list(disk_fills.judge(case(eta=left, gone_in={("/d", "inodes"): seconds}), NOW))) is told


def test_a_late_checkpoint_is_told_once_they_were_regular():
    """Three pauses of twenty minutes make an hour without one worth a word."""
    regular = tuple(NOW - 3700 - 1200 * i for i in range(4))
    (found,) = checkpoint_overdue.judge(case(checkpoints=regular), NOW)
    assert found.text == "no checkpoint for 62 min; before, one came about every 20 min"


@pytest.mark.parametrize(
    "checkpoints",
    [
        (),
        (NOW - 9000, NOW - 8000),
        tuple(NOW - 600 - 1200 * i for i in range(5)),
        (NOW - 20_000, NOW - 6100, NOW - 4900, NOW - 3700),
        tuple(NOW - 3700 - 1200 * i + rank for i in range(2) for rank in range(4)),
    ],
    ids=["none", "two", "in time", "a longer pause before", "one per rank, two waves"],
)
def test_what_may_still_be_in_time_is_not_told(checkpoints):
    """Too few to call them regular, or no later than they have been."""
    assert list(checkpoint_overdue.judge(case(checkpoints=checkpoints), NOW)) == []


def test_nothing_is_told_of_a_job_that_has_ended():
    """There is no end to look ahead to."""
    over = case(Ended(Outcome.FAILED), gone_in={("/d", "bytes"): 1.0}, checkpoints=(1.0, 2.0, 3.0, 4.0))
    assert list(disk_fills.judge(over, NOW)) + list(checkpoint_overdue.judge(over, NOW)) == []


GB = 1e9


@pytest.mark.parametrize(
    ("held", "eta", "told"),
    [
        (Held(62 * GB, 64 * GB), None, "the memory that the job may use is 97 % full (62.0 of 64.0 GB): "),
        (Held(40 * GB, 64 * GB, 3600.0), 4 * 3600.0, "full in about 60 min, about 3.0 h before the job is done: "),
        (Held(40 * GB, 64 * GB, 3600.0), None, "full in about 60 min, at the current rate: "),
        (Held(40 * GB, 64 * GB, 3600.0, True), None, "the memory of the machine (40.0 of 64.0 GB) will be full in "),
        (Held(40 * GB, 64 * GB, 3600.0), 3700.0, None),
        (Held(40 * GB, 64 * GB, 7 * 3600.0), None, None),
        (Held(40 * GB, 64 * GB), 3700.0, None),
        (Held(63 * GB, 64 * GB, None, True), None, None),
    ],
    ids=["full", "before the end", "no estimate", "machine", "lasts", "far", "flat", "others fill the machine"],
)
def test_memory_that_runs_out_is_told_with_its_moment_and_what_to_do(held, eta, told):
    """What is nearly full now, and what will be before the job is done; not what may last."""
    left = None if eta is None else Eta(eta, eta * 0.8, eta * 1.2, 0.9)
    found = [finding.text for finding in memory_fills.judge(case(eta=left, held=held), NOW)]
    assert found == [] if told is None else told in found[0] and found[0].endswith(memory_fills.REMEDY)


@pytest.mark.parametrize(
    ("piece", "left", "told"),
    [
        (
            "7",
            4 * 3600.0,
            "the memory that task 7 may use (40.0 of 64.0 GB) will be full in about 60 min, at the current",
        ),
        ("7", None, "at the current rate"),
        ("7", 4000.0, None),
        (
            "+1",
            None,
            "the memory that part 1 of the job may use (40.0 of 64.0 GB) will be full in about 60 min, about",
        ),
    ],
    ids=["a task", "without a limit", "its time is over before", "a part"],
)
def test_a_piece_of_a_job_is_told_by_its_name_and_lasts_no_longer_than_it_may(piece, left, told):
    """An array's end says nothing of one task; a part of a heterogeneous job lasts as long as the job."""
    held = Held(40e9, 64e9, 3600.0, piece=piece, left=left)
    found = [
        finding.text for finding in memory_fills.judge(case(eta=Eta(36000.0, 30000.0, 40000.0, 0.9), held=held), NOW)
    ]
    assert found == [] if told is None else told in found[0]


def test_memory_that_lasts_until_the_time_limit_lasts():
    """Slurm ends the job before its memory is full."""
    held = Held(40e9, 64e9, 3600.0)
    assert list(memory_fills.judge(case(held=held, facts=Facts(time_limit_at=NOW + 3000)), NOW)) == []
    assert list(memory_fills.judge(case(held=held, facts=Facts(time_limit_at=NOW + 8000)), NOW))


def test_memory_that_slurm_counts_is_only_looked_ahead_of():
    """What it adds up may count shared pages twice, so that it looks full is no news; with mapped files among it, a
    rise is told as a hint."""
    assert list(memory_fills.judge(case(held=Held(99e9, 100e9, counter="Slurm")), NOW)) == []
    (found,) = memory_fills.judge(case(held=Held(60e9, 100e9, 3600.0, counter="Slurm")), NOW)
    assert found.level is Level.WARNING
    (found,) = memory_fills.judge(case(held=Held(60e9, 100e9, 3600.0, counter="Slurm", rough=True)), NOW)
    assert found.level is Level.INFO
    assert "including mapped files" in found.text
