"""Findings about what a job produces: when they open, when they do not, and what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dogwatch.model import (
    Ended,
    Expectation,
    Job,
    Known,
    Level,
    Outcome,
    Progress,
    Running,
    StallState,
    Verdict,
)
from dogwatch.rules import (
    checkpoint_broken,
    disk_fills,
    disk_low,
    growth_low,
    no_progress,
    output_broken,
    outputs_unchanged,
)
from dogwatch.rules.interface import Case, Disk, Made, Quota, Spoilt
from dogwatch.watcher.job.artifacts import Produced, ProducedFile

JOB = Job("here/process:x", "here", "process", "x", "x", expect=Expectation(min_growth=10e6 / 3600))
RUNNING = Case(JOB, Known(state=Running()))
ROOM = Disk("/d", 500 * 10**9, 10**12, 900, 1000)


def said(rule: Any, **more: Any) -> list[str]:
    return [finding.text for finding in rule.judge(replace(RUNNING, **more), 0.0)]


def test_growth_is_compared_once_it_is_known() -> None:
    """Half an hour is needed to know it; nothing is said where nothing was asked."""
    assert said(growth_low, made=Made(growth=None)) == []
    assert said(growth_low, made=Made(growth=11e6 / 3600)) == []
    (text,) = said(growth_low, made=Made(growth=9e6 / 3600))
    assert "9 MB/h over the last half hour, less than the 10 MB/h" in text
    (nothing,) = said(growth_low, made=Made(growth=0.0))
    assert "grow by nothing" in nothing
    assert said(growth_low, job=replace(JOB, expect=Expectation()), made=Made(growth=0.0)) == []


@pytest.mark.parametrize(
    ("made", "more", "told"),
    [
        (Made(unchanged=4000.0, usual=60.0, silence_limit=2400.0), {}, True),
        (Made(unchanged=2000.0, usual=60.0, silence_limit=2400.0), {}, False),
        (Made(unchanged=9000.0, usual=60.0, silence_limit=None), {}, False),
        (Made(unchanged=9000.0, silence_limit=1.0), {"verdict": Verdict(StallState.STALLED, 0.0)}, False),
        (
            Made(unchanged=9000.0, silence_limit=1.0),
            {"progress": Progress(100.0, 100.0, "steps", None, None, 0.0)},
            False,
        ),
    ],
    ids=["beyond silence limit", "within it", "never regular", "all of it stalls", "all is done"],
)
def test_outputs_stand_still_only_beyond_what_they_have_shown(made: Made, more: dict[str, Any], told: bool) -> None:
    """A job that is stalled as a whole, or done, is not told twice."""
    assert bool(said(outputs_unchanged, made=made, **more)) is told


def test_broken_files_are_named_with_what_to_do() -> None:
    """Four by name, the others counted."""
    broken = tuple(Spoilt(f"/out/{n}.parquet", "ends in the middle of its footer", "make it again") for n in range(6))
    texts = said(output_broken, made=Made(broken=broken))
    assert len(texts) == 4
    assert texts[0] == "/out/0.parquet ends in the middle of its footer (2 more like it); make it again"
    (text,) = said(checkpoint_broken, made=Made(spoilt=(Spoilt("/c/step_5", "lacks part 2 of 3", "Copy it"),)))
    assert text == "checkpoint step_5 lacks part 2 of 3; no intact one is known. Copy it"


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([("checkpoint", 500.0)] * 3, True),
        ([("checkpoint", 500.0), ("checkpoint", 400.0), ("checkpoint", 500.0)], True),
        ([("step", 12.0)] * 3, True),
        ([("step", 12.0), ("step", 11.0), ("step", 12.0)], False),
        ([("checkpoint", 500.0)] * 2, False),
        ([("checkpoint", 500.0), ("checkpoint", 500.0), ("checkpoint", 501.0)], False),
        ([("step", 500.0), ("checkpoint", 500.0), ("checkpoint", 500.0)], False),
        ([("checkpoint", 1.0), ("checkpoint", 500.0), ("checkpoint", 500.0)], False),
    ],
)
def test_three_attempts_without_progress_are_critical(attempts: list[tuple[str, float]], told: bool) -> None:
    """Two may be bad luck, and one that came further begins the count anew."""
    found = list(no_progress.judge(replace(RUNNING, made=Made(attempts=tuple(attempts))), 0.0))
    assert [finding.level for finding in found] == ([Level.CRITICAL] if told else [])


def test_the_attempt_that_ended_last_counts_and_success_ends_it() -> None:
    """A scheduler may give up after the third; a run that succeeded came as far as it should."""
    made = Produced(attempts=[("step", 7.0), ("step", 7.0)])
    over = made.made(0.0, "training", 7.0, ended=True)
    failed = replace(RUNNING, known=Known(state=Ended(Outcome.FAILED)), made=over)
    (found,) = no_progress.judge(failed, 0.0)
    assert "3 attempts in a row got no further than step 7" in found.text
    assert list(no_progress.judge(replace(failed, known=Known(state=Ended(Outcome.SUCCEEDED))), 0.0)) == []
    assert made.made(0.0, "training", 7.0, ended=False).attempts == (("step", 7.0), ("step", 7.0))


def test_an_attempt_is_as_far_as_its_newest_checkpoint_else_its_last_step() -> None:
    """What was computed after the checkpoint is lost with the attempt."""
    made = Produced()
    made.end_attempt(40.0)
    made.checkpoints = {f"/c/checkpoint-{n}": ProducedFile(1, float(n)) for n in (10, 30, 20)}
    made.end_attempt(45.0)
    made.end_attempt(None)
    assert made.attempts == [("step", 40.0), ("checkpoint", 30), ("checkpoint", 30)]


@pytest.mark.parametrize(
    ("quota", "levels"),
    [
        (Quota("user", 500 * 10**9, 10**12, 500, 1000), []),
        (Quota("user", 9 * 10**9, 20 * 10**9, 0, 0), [Level.WARNING]),
        (Quota("group", 90 * 10**9, 10**12, 0, 0), [Level.WARNING]),
        (Quota("user", 10**9, 10**12, 0, 0), [Level.CRITICAL]),
        (Quota("user", 0, 0, 5, 1000), [Level.CRITICAL]),
        (Quota("user", 0, 10**12, 50, 1000), [Level.CRITICAL, Level.WARNING]),
        (Quota("user", 0, 0, 0, 0), []),
        (Quota("user", 500 * 10**9, 10**12, 0, 0, over_soft=True), [Level.WARNING]),
    ],
)
def test_a_quota_is_low_below_a_tenth_or_ten_gigabytes_like_a_disk(quota: Quota, levels: list[Level]) -> None:
    """In bytes and in files, each for itself; a limit of nothing is no limit."""
    found = list(disk_low.judge(replace(RUNNING, disks={"1": replace(ROOM, quota=quota)}), 0.0))
    assert [finding.level for finding in found] == levels
    assert all(quota.who in finding.text for finding in found)
    assert len({finding.what for finding in found}) == len(found)


def test_bytes_and_inodes_that_are_both_low_are_two_findings() -> None:
    """One does not hide the other."""
    full = replace(ROOM, free=0, inodes_free=0)
    assert len(list(disk_low.judge(replace(RUNNING, disks={"1": full}), 0.0))) == 2


def test_a_quota_that_runs_out_is_told_by_the_path_and_what_is_gone() -> None:
    """Not by the number of the device that the room is remembered under."""
    (text,) = said(disk_fills, disks={"66": ROOM}, gone_in={("66", "quota"): 600.0})
    assert text.startswith("the disk of /d will have no quota (bytes) left in about 10 min")
