"""How a finding ceases to stand: only what was looked at again and is gone has resolved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dogwatch.model import (
    Closing,
    Ended,
    Eta,
    Facts,
    Finding,
    Job,
    Known,
    Level,
    Missing,
    Outcome,
    Running,
    StallState,
    State,
    Verdict,
    Waiting,
    Worker,
)
from dogwatch.rules.interface import Case, Disk, Made, Quota
from dogwatch.watcher.tick.judge import Judgement, identity, judge_job

REF = "here/process:1"
JOB = Job(ref=REF, place="here", source="process", id="1", name="train", registered=0.0)
NOW = 1000.0
ROOM = Disk("/data", 10**13, 10**13, 10**6, 10**6)
WORKING = Verdict(StallState.WORKING, 0.0)


def known(state: State | None) -> Known:
    return Known(state, 0.0, attempt="1", attempts=1)


RUNNING = Case(JOB, known(Running(0.0)), verdict=WORKING)


def after(case: Case, rule: str, what: str = "", *, lasting: bool = False, new_attempt: bool = False) -> Judgement:
    """What becomes of one open finding of that rule."""
    held = Finding(REF, rule, Level.WARNING, "as it was", what, lasting=lasting)
    return judge_job(case, {identity(held): held}, NOW, new_attempt=new_attempt)


def how(case: Case, rule: str, what: str = "") -> Closing:
    judgement = after(case, rule, what)
    if judgement.resolved:
        return Closing.RESOLVED
    return judgement.closed[0][1] if judgement.closed else Closing.OPEN


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize(
    "rule", ["stalled", "slow", "straggler", "disk_low", "time_limit", "memory_fills", "loss_bad", "launch_failed"]
)
def test_what_stood_when_the_job_ended_has_ended_with_it(rule: str, outcome: Outcome) -> None:
    """Whatever the finding, and however the job ended: the timeout does not resolve the warning of it."""
    ended = replace(RUNNING, known=known(Ended(outcome, at=NOW)), verdict=None, disks={"/data": ROOM})
    assert how(ended, rule, "x") is Closing.ENDED_WITH_JOB


@pytest.mark.parametrize("state", [Missing(NOW), None])
@pytest.mark.parametrize("rule", ["stalled", "silent", "worker_gone", "time_limit", "cannot_start", "gpu_idle"])
def test_a_job_that_is_not_seen_resolves_nothing(rule: str, state: State | None) -> None:
    """Not listed is not well."""
    assert how(replace(RUNNING, known=known(state), verdict=None), rule, "worker 1") is Closing.OPEN


def test_a_verdict_that_cannot_be_given_ends_no_stall() -> None:
    """None and `cannot tell` are not `working`."""
    unsure = frozenset({"stalled"})
    assert how(RUNNING, "stalled") is Closing.RESOLVED
    assert how(replace(RUNNING, unsure=unsure), "stalled") is Closing.OPEN
    assert how(replace(RUNNING, verdict=None), "stalled") is Closing.OPEN


def test_what_became_a_stall_is_replaced_and_not_resolved() -> None:
    """Silent, then stalled: that is worse."""
    stalled = replace(RUNNING, verdict=Verdict(StallState.STALLED, 0.0, why="nothing moves"))
    judgement = after(stalled, "silent")
    assert [finding.rule for finding in judgement.opened] == ["stalled"]
    assert [how for _, how in judgement.closed] == [Closing.REPLACED]
    assert judgement.resolved == ()


def worker(index: int, doing: str, outcome: Outcome | None = None) -> Worker:
    return Worker(index=index, pid=index + 100, doing=doing, outcome=outcome)


def test_a_worker_that_hangs_is_not_well_because_the_others_have_finished() -> None:
    """Only where it could be compared with another has it caught up; where it ended, that is what is said."""
    others = (worker(0, "sleeping"), worker(1, "gone", Outcome.SUCCEEDED))
    alone = replace(RUNNING, workers=others)
    assert how(alone, "straggler", "worker 0") is Closing.OPEN
    assert how(replace(alone, compared=frozenset({"0", "1"})), "straggler", "worker 0") is Closing.RESOLVED
    assert how(alone, "straggler", "worker 1") is Closing.ENDED_WITH_WORKER


def test_a_worker_that_cannot_be_seen_is_not_well() -> None:
    """One that was continued is; one that ended has ended."""
    for doing, expected in (
        ("hidden", Closing.OPEN),
        ("running", Closing.RESOLVED),
        ("sleeping", Closing.RESOLVED),
        ("gone", Closing.ENDED_WITH_WORKER),
    ):
        ended = Outcome.SUCCEEDED if doing == "gone" else None
        assert how(replace(RUNNING, workers=(worker(0, doing, ended),)), "worker_gone", "worker 0") is expected


def test_a_disk_that_was_not_read_has_no_more_room_than_before() -> None:
    """Nor has a quota, nor a disk that tells no size, nor one whose other number was read."""
    quota = Quota("user", 10**13, 10**13, 10**6, 10**6)
    assert how(replace(RUNNING, disks={}), "disk_low", "/data") is Closing.OPEN
    assert how(replace(RUNNING, disks={"/home": ROOM}), "disk_low", "/data") is Closing.OPEN
    assert how(replace(RUNNING, disks={"/data": replace(ROOM, free=0, total=0)}), "disk_low", "/data") is Closing.OPEN
    assert how(replace(RUNNING, disks={"/data": ROOM}), "disk_low", "/data quota") is Closing.OPEN
    assert how(replace(RUNNING, disks={"/data": replace(ROOM, quota=quota)}), "disk_low", "/data quota") is (
        Closing.RESOLVED
    )
    assert how(replace(RUNNING, disks={"/data": ROOM}), "disk_low", "/data") is Closing.RESOLVED


def test_a_disk_that_was_said_to_fill_and_is_full_has_not_resolved() -> None:
    """There is no trend any more when nothing is left."""
    full = replace(ROOM, free=0)
    assert how(replace(RUNNING, disks={"/data": full}), "disk_fills", "/data bytes") is Closing.REPLACED
    assert how(replace(RUNNING, disks={}), "disk_fills", "/data bytes") is Closing.OPEN
    assert how(replace(RUNNING, disks={"/data": ROOM}), "disk_fills", "/data bytes") is Closing.RESOLVED


def test_a_time_limit_is_no_trouble_only_by_an_estimate() -> None:
    """Without one nobody knows."""
    facts = Facts(time_limit_at=NOW + 1000)
    soon = Eta(10.0, 5.0, 20.0, 0.9)
    assert how(replace(RUNNING, facts=facts), "time_limit") is Closing.OPEN
    assert how(replace(RUNNING, facts=facts, eta=soon), "time_limit") is Closing.RESOLVED


def test_outputs_have_grown_only_when_they_have() -> None:
    """Not because the job is nearly done, or is not judged."""
    assert (
        how(replace(RUNNING, made=Made(unchanged=90.0, usual=1.0, silence_limit=None)), "outputs_unchanged")
        is Closing.OPEN
    )
    assert (
        how(replace(RUNNING, made=Made(unchanged=1.0, usual=1.0, silence_limit=60.0)), "outputs_unchanged")
        is Closing.RESOLVED
    )


def test_what_keeps_a_job_from_starting_is_gone_when_it_runs() -> None:
    """Or waits for another reason."""
    assert how(RUNNING, "cannot_start", "held") is Closing.RESOLVED
    assert how(replace(RUNNING, known=known(Waiting(""))), "cannot_start", "held") is Closing.RESOLVED
    ended = replace(RUNNING, known=known(Ended(Outcome.SUCCEEDED, at=NOW)), verdict=None)
    assert how(replace(ended, facts=Facts(started_at=1.0)), "cannot_start", "held") is Closing.RESOLVED
    assert how(ended, "cannot_start", "held") is Closing.ENDED_WITH_JOB


def test_a_new_attempt_closes_what_stood_of_the_old_one() -> None:
    """Also what is a fact about it; what is found again goes on, and nothing of it has resolved."""
    waiting = replace(RUNNING, known=known(Waiting("")), verdict=None)
    for lasting in (False, True):
        judgement = after(waiting, "stalled", lasting=lasting, new_attempt=True)
        assert [how for _, how in judgement.closed] == [Closing.ENDED_WITH_ATTEMPT]
        assert judgement.resolved == ()
    failed = replace(RUNNING, known=known(Ended(Outcome.FAILED, at=NOW)), verdict=None)
    again = after(failed, "all_ended", lasting=True, new_attempt=True)
    assert [finding.rule for finding in again.opened] == ["all_ended"]
    low = replace(RUNNING, disks={"/data": replace(ROOM, free=10**9)})
    assert (goes_on := after(low, "disk_low", "/data", new_attempt=True)).closed == ()
    assert [finding.rule for finding, _ in goes_on.escalated] == ["disk_low"]
