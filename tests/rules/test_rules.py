"""The rules: what deserves a word, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dogwatch.model import (
    Ended,
    ErrorGroup,
    Expectation,
    Finding,
    Job,
    Known,
    Level,
    Outcome,
    Running,
    StallState,
    Straggler,
    Verdict,
    Waiting,
    Worker,
)
from dogwatch.rules import (
    all_ended,
    disk_low,
    error_pattern,
    folder_moved,
    host_unreachable,
    launch_failed,
    not_verified,
    silent,
    slow,
    stalled,
    straggler,
    worker_gone,
)
from dogwatch.rules.interface import Case, Disk, PlaceCase

JOB = Job("here/process:t-1", "here", "process", "t-1", "train", expect=Expectation(workers=2))
RUNNING = Case(
    JOB, Known(state=Running()), workers=(Worker(0, "sleeping", 1, started=1.0), Worker(1, "running", 2, started=1.0))
)
DISK = Disk("/data", free=50_000_000_000, total=100_000_000_000, inodes_free=900, inodes=1000)


def levels(findings: list[Finding]) -> list[Level]:
    return [finding.level for finding in findings]


def test_a_healthy_job_deserves_no_word() -> None:
    """No rule speaks of two workers that work."""
    case = replace(RUNNING, verdict=Verdict(StallState.WORKING, 0.0), disks={"1": DISK}, age=500.0)
    for rule in (worker_gone, all_ended, launch_failed, silent, disk_low, not_verified):
        assert list(rule.judge(case, 0.0)) == []


@pytest.mark.parametrize(
    ("worker", "level"),
    [
        (Worker(1, "gone", 2, outcome=Outcome.FAILED, reason="exit code 1"), Level.CRITICAL),
        (Worker(1, "gone", 2, outcome=Outcome.UNKNOWN, reason="it vanished"), Level.WARNING),
        (Worker(1, "zombie", 2, outcome=Outcome.UNKNOWN, reason="not reaped"), Level.WARNING),
        (Worker(1, "stopped", 2), Level.WARNING),
    ],
)
def test_one_worker_of_several_that_is_missing_is_a_finding_at_once(worker: Worker, level: Level) -> None:
    """Whatever its siblings do."""
    found = list(worker_gone.judge(replace(RUNNING, workers=(RUNNING.workers[0], worker)), 0.0))
    assert levels(found) == [level]
    assert "worker 1 (pid 2)" in found[0].text


def test_a_worker_that_finished_early_and_well_is_no_finding() -> None:
    """Workers need not end together."""
    done = Worker(1, "gone", 2, outcome=Outcome.SUCCEEDED)
    assert list(worker_gone.judge(replace(RUNNING, workers=(RUNNING.workers[0], done)), 0.0)) == []


def test_a_bad_ending_is_critical_and_an_unknown_one_a_warning() -> None:
    """Success is no finding at all."""
    told = {
        outcome: levels(list(all_ended.judge(replace(RUNNING, known=Known(state=Ended(outcome))), 0.0)))
        for outcome in Outcome
    }
    assert told[Outcome.SUCCEEDED] == []
    assert told[Outcome.UNKNOWN] == [Level.WARNING]
    assert told[Outcome.FAILED] == told[Outcome.OUT_OF_MEMORY] == [Level.CRITICAL]


def test_fewer_workers_than_expected_within_the_launch_timeout_is_a_failed_launch() -> None:
    """It names the ones that are missing, and waits its time before it speaks."""
    case = replace(RUNNING, known=Known(state=Waiting()), workers=RUNNING.workers[:1])
    assert list(launch_failed.judge(replace(case, age=59.0), 0.0)) == []
    found = list(launch_failed.judge(replace(case, age=60.0), 0.0))
    assert levels(found) == [Level.CRITICAL]
    assert "only 1 of 2 workers" in found[0].text
    assert "missing: 1" in found[0].text


@pytest.mark.parametrize(
    ("word", "rule", "level"),
    [
        (StallState.WORKING, None, None),
        (StallState.CANNOT_TELL, None, None),
        (StallState.SLOW, "slow", Level.WARNING),
        (StallState.SILENT_BUT_BUSY, "silent", Level.WARNING),
        (StallState.STALLED, "stalled", Level.CRITICAL),
    ],
)
def test_one_verdict_makes_one_finding_at_the_most(word: StallState, rule: str | None, level: Level | None) -> None:
    """Only a job that runs can be stuck, and not being able to tell is no accusation."""
    case = replace(RUNNING, verdict=Verdict(word, 0.0, why="because"))
    found = [finding for module in (slow, silent, stalled) for finding in module.judge(case, 0.0)]
    assert [(finding.rule, finding.level) for finding in found] == ([] if rule is None else [(rule, level)])
    ended = replace(case, known=Known(state=Ended(Outcome.FAILED)))
    assert [finding for module in (slow, silent, stalled) for finding in module.judge(ended, 0.0)] == []


def test_a_worker_behind_its_equals_is_named() -> None:
    """It is a finding of its own for each worker, and ends with the job."""
    case = replace(RUNNING, straggler=Straggler("3", 0.0, "does about 40 % less than the other workers"))
    found = list(straggler.judge(case, 0.0))
    assert levels(found) == [Level.WARNING]
    assert found[0].what == "worker 3"
    assert list(straggler.judge(replace(case, known=Known(state=Waiting())), 0.0)) == []


@pytest.mark.parametrize(
    ("disk", "level"),
    [
        (DISK, None),
        (replace(DISK, free=9_000_000_000), Level.WARNING),
        (replace(DISK, free=9_000_000_000, total=1_000_000_000_000), Level.CRITICAL),
        (replace(DISK, free=90_000_000_000, total=1_000_000_000_000), Level.WARNING),
        (replace(DISK, inodes_free=99), Level.WARNING),
        (replace(DISK, inodes_free=0), Level.CRITICAL),
        (replace(DISK, inodes_free=0, inodes=0), None),
    ],
)
def test_a_disk_is_low_below_a_tenth_or_ten_gigabytes_or_a_tenth_of_its_inodes(disk: Disk, level: Level | None) -> None:
    """A filesystem that does not count inodes is not out of them."""
    found = list(disk_low.judge(replace(RUNNING, disks={"1": disk}), 0.0))
    assert levels(found) == ([] if level is None else [level])


def test_little_room_is_told_in_megabytes() -> None:
    """Nobody is told that 0.0 GB are free while there is room left."""
    small = Disk("/scratch", 37 * 10**6, 10**9, 900, 1000)
    found = list(disk_low.judge(replace(RUNNING, disks={"1": small}), 0.0))
    assert [finding.text for finding in found if "37 MB (4 %) free" in finding.text]


def test_a_dark_place_is_one_finding_however_many_jobs_live_there() -> None:
    """And one late answer is none."""
    assert list(host_unreachable.judge_place(PlaceCase("here", 1, 5.0, "no answer", 40), 0.0)) == []
    found = list(host_unreachable.judge_place(PlaceCase("here", 2, 5.0, "no answer", 40), 0.0))
    assert [finding.subject for finding in found] == ["place:here"]
    assert "40 jobs" in found[0].text


def test_a_success_that_lacks_its_outputs_is_contradicted() -> None:
    """Exit code 0 is one piece of evidence; what is on the disk is another."""
    known = Known(state=Ended(Outcome.SUCCEEDED), final=Outcome.INCOMPLETE, why="only 97 of 100 items")
    (found,) = not_verified.judge(replace(RUNNING, known=known), 0.0)
    assert (found.level, found.text) == (Level.CRITICAL, "incomplete: only 97 of 100 items")
    assert list(not_verified.judge(replace(RUNNING, known=replace(known, final=Outcome.SUCCEEDED)), 0.0)) == []
    assert list(all_ended.judge(replace(RUNNING, known=known), 0.0)) == []


def test_folders_that_lead_elsewhere_are_one_warning() -> None:
    """However many there are; none is left when all are where they were."""
    (found,) = folder_moved.judge(replace(RUNNING, moved=["/a is now a link to /b", "/c is now"]), 0.0)
    assert (found.level, found.text) == (Level.WARNING, "its files cannot be read: /a is now a link to /b")
    assert list(folder_moved.judge(replace(RUNNING, moved=[]), 0.0)) == []


MONITORED = replace(RUNNING, job=replace(JOB, expect=Expectation(stall_warning=300.0)))


def told(case: Case) -> list[tuple[str, Level]]:
    return [(found.rule, found.level) for module in (silent, stalled) for found in module.judge(case, 0.0)]


def test_no_progress_for_as_long_as_the_owner_wants_to_wait_is_one_warning() -> None:
    """It becomes critical when the job is called stalled, under the same name; without the wish nobody is warned."""
    case = replace(MONITORED, verdict=Verdict(StallState.WORKING, 0.0, silence_limit=2400.0), stood=310.0)
    assert told(case) == [("stalled", Level.WARNING)]
    assert "5 min" in next(iter(stalled.judge(case, 0.0))).text
    assert told(replace(case, stood=0.0)) == []
    assert told(replace(case, job=JOB)) == []
    hung = Verdict(StallState.STALLED, 0.0, silence_limit=2400.0, why="no progress, log or file activity")
    assert told(replace(case, verdict=hung)) == [("stalled", Level.CRITICAL)]


@pytest.mark.parametrize(("silence_limit", "rule"), [(2400.0, "stalled"), (60.0, "silent")])
def test_a_silence_gives_one_warning_by_whichever_rule_spoke_first(silence_limit: float, rule: str) -> None:
    """Silent but busy before the five minutes are over, or after them: never two warnings, and no false end of one."""
    busy = Verdict(
        StallState.SILENT_BUT_BUSY, 0.0, silence_limit=silence_limit, why="no progress, log or file activity"
    )
    assert told(replace(MONITORED, verdict=busy, stood=310.0)) == [(rule, Level.WARNING)]


@pytest.mark.parametrize(("pattern", "count", "told"), [("default:oom", 1, 0), ("default:oom", 2, 1), ("OOM", 1, 1)])
def test_the_line_that_a_crash_is_told_with_is_no_warning_of_its_own(pattern: str, count: int, told: int) -> None:
    """Where no other line matched, and nobody asked for the pattern."""
    line = "RuntimeError: CUDA out of memory"
    dead = Worker(1, "gone", 2, started=1.0, outcome=Outcome.FAILED, reason=f"{line} (worker_1.log:4)")
    group = ErrorGroup(pattern, "warning", count, "out of memory", line, 5.0)
    case = replace(RUNNING, workers=(RUNNING.workers[0], dead), errors=(group,))
    assert len(list(error_pattern.judge(case, 10.0))) == told
