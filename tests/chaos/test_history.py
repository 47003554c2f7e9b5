"""The checker of the storm: it is silent about a true history, and no lie gets past it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.history import LOST, UNKNOWN, WRONG, Ending, History, Said, Truth, check
from tests.chaos.plans import Part, Plan, job_ending

A, B, GONE = "here/process:j0-a", "here/process:j1-b", "here/process:j2-c"


def event(seq: int, kind: str, ref: str | None = None, text: str = "", **body: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": kind, "ref": ref, "text": text, "body": body}


def moved(seq: int, ref: str, before: str | None, after: str, **ending: Any) -> dict[str, Any]:
    return event(seq, "job.state", ref, before=before, after=after, attempt=1, **ending)


def job(ref: str, name: str, outcome: str, code: int | None = None, signal: int | None = None) -> dict[str, Any]:
    how = {"outcome": outcome, "exit_code": code, "signal": signal, "reason": ""}
    return {"ref": ref, "name": name, "state": "ended", **how}


EVENTS = [
    event(1, "watch.started", text="dogwatch daemon started watching"),
    event(2, "job.added", A, "j0 is watched"),
    event(3, "job.added", B, "j1 is watched"),
    moved(4, A, None, "waiting"),
    moved(5, B, None, "ended", outcome="failed", exit_code=None, signal=11),
    moved(6, A, "waiting", "running"),
    event(7, "job.added", GONE, "j2 is watched"),
    moved(8, A, "running", "ended", outcome="succeeded", exit_code=0, signal=None),
    moved(9, GONE, None, "waiting"),
    event(10, "job.forgotten", GONE, "j2 is no longer watched"),
]
TRUE = History(
    events=EVENTS,
    jobs=[job(A, "j0", "succeeded", 0), job(B, "j1", "failed", None, 11)],
    truths=[
        Truth("j0", (Ending("succeeded", 0),), promised=True),
        Truth("j1", (Ending("failed", None, 11),), promised=True),
        Truth("j2", (Ending("succeeded", 0),), promised=True, forgotten=True),
        Truth("j3", (), promised=False, ran=False),
    ],
    glimpsed=EVENTS[2:5],
    started_runs=frozenset({A, B, GONE}),
    notifications=[Said("info: j0: completed", True, 1, 1), Said("critical: j1: ended", True, 1, 1)],
    printed={"info: j0: completed": 2, "critical: j1: ended": 1},
    killed_watchers=1,
    watchers_that_spoke=1,
    watchers_launched=2,
    patrolled=frozenset({4, 5, 6, 8}),
    news=frozenset({"job.state"}),
)


def altered(change: Callable[[list[dict[str, Any]]], object]) -> History:
    """The true history with its events changed."""
    events = deepcopy(EVENTS)
    change(events)
    return replace(TRUE, events=events, glimpsed=())


def relisted(*jobs: Mapping[str, Any]) -> History:
    return replace(TRUE, jobs=list(jobs))


def renumbered(events: list[dict[str, Any]]) -> None:
    for seq, one in enumerate(events, start=1):
        one["seq"] = seq


def drop(events: list[dict[str, Any]], at: int) -> None:
    """Lose an event without leaving a hole in the numbers."""
    del events[at]
    renumbered(events)


def again(events: list[dict[str, Any]]) -> None:
    events.append(moved(10, B, "ended", "ended", outcome="failed", exit_code=None, signal=11))


LIES = {
    "an event lost in the middle": (altered(lambda events: drop(events, 5)), LOST, "goes on from running"),
    "the adding of a job lost": (altered(lambda events: drop(events, 1)), LOST, "never added"),
    "a hole in the numbers": (altered(lambda events: events[8].update(seq=10)), LOST, "event 9 is not there"),
    "a number used twice": (altered(lambda events: events[3].update(seq=3)), LOST, "event 4 is not there"),
    "the end of the history cut off": (replace(TRUE, events=EVENTS[:3]), LOST, "was shown as"),
    "an event changed after it was shown": (
        replace(TRUE, events=[*EVENTS[:2], {**EVENTS[2], "text": "other"}, *EVENTS[3:]]),
        LOST,
        "event 3 was shown as",
    ),
    "a state that does not follow": (
        altered(lambda events: events[5]["body"].update(after="waiting")),
        WRONG,
        "waiting does not follow from waiting",
    ),
    "a state after the end": (
        altered(lambda events: events.append(moved(10, B, "ended", "running"))),
        WRONG,
        "running does not follow from ended",
    ),
    "two endings of one attempt": (altered(again), WRONG, "attempt 1 ended twice"),
    "a state of a forgotten job": (
        altered(lambda events: events.append(moved(10, GONE, None, "running"))),
        WRONG,
        "a job that was forgotten",
    ),
    "a wrong outcome": (relisted(job(A, "j0", "failed", 1), TRUE.jobs[1]), WRONG, "j0 ended as"),
    "a wrong exit code": (relisted(job(A, "j0", "succeeded", 1), TRUE.jobs[1]), WRONG, "j0 ended as"),
    "a wrong signal": (relisted(TRUE.jobs[0], job(B, "j1", "failed", None, 9)), WRONG, "j1 ended as"),
    "a list that differs from the history": (
        relisted({**job(A, "j0", "succeeded", 0), "state": "running", "outcome": None}, TRUE.jobs[1]),
        WRONG,
        "its last event says",
    ),
    "a job that is not listed": (relisted(TRUE.jobs[0]), LOST, "j1 is not listed"),
    "a job listed twice": (relisted(*TRUE.jobs, TRUE.jobs[0]), LOST, "listed 2 times"),
    "a forgotten job that is listed": (relisted(*TRUE.jobs, job(GONE, "j2", "failed", 1)), WRONG, "was forgotten"),
    "a promised job that never was": (
        replace(TRUE, truths=[*TRUE.truths, Truth("j9", (UNKNOWN,), promised=True)]),
        LOST,
        "j9 was promised",
    ),
    "a job that ran unregistered": (
        replace(TRUE, truths=[*TRUE.truths, Truth("j9", (UNKNOWN,), promised=False, ran=True)]),
        LOST,
        "j9 ran",
    ),
    "a run outside of the history": (
        replace(TRUE, started_runs=frozenset({"here/process:j9-d"})),
        LOST,
        "never registered",
    ),
    "a job that never began and has an ending": (
        replace(TRUE, truths=[Truth("j0", (), promised=True)]),
        WRONG,
        "j0 never began",
    ),
    "a notification recorded twice": (
        replace(TRUE, notifications=[Said("info: j0: completed", True, 2, 2)]),
        WRONG,
        "recorded 2 times",
    ),
    "a notification that nobody said": (replace(TRUE, notifications=[Said("x", True, 0, 0)]), LOST, "nobody said it"),
    "a notification recorded and not printed": (
        replace(TRUE, notifications=[Said("info: j7: completed", True, 1, 1)]),
        LOST,
        "never printed",
    ),
    "a notification printed again without a kill": (replace(TRUE, killed_watchers=0), WRONG, "printed again"),
    "a watcher that spoke and is not in the history": (replace(TRUE, watchers_that_spoke=2), LOST, "said they watch"),
    "a watcher too many": (replace(TRUE, watchers_launched=0), WRONG, "were started"),
    "news that no patrol reported": (replace(TRUE, patrolled=frozenset({4, 6, 8})), LOST, "reported by no patrol"),
}


def test_a_true_history_has_no_flaw():
    """The checker does not cry over a repeated notice that a kill explains, nor over a job cut short."""
    assert check(TRUE) == []


@pytest.mark.parametrize(("lie", "kind", "words"), LIES.values(), ids=LIES.keys())
def test_a_lie_is_caught(lie: History, kind: str, words: str):
    """Each seeded lie is found and called what it is."""
    assert any(flaw.kind == kind and words in flaw.text for flaw in check(lie)), check(lie)


def test_a_job_ends_as_its_worst_worker_did_and_unknown_only_without_its_supervisor():
    """A missing record is excused by a killed supervisor and by nothing else; a record must match the plan."""
    plan = Plan("j0", (Part(0.0), Part(0.0, 3)))
    good, bad = {"code": 0, "signal": None}, {"code": 3, "signal": None}
    assert job_ending(plan, {0: good, 1: bad}, False) == (Ending("failed", 3), [])
    assert job_ending(plan, {0: good}, True) == (UNKNOWN, [])
    assert [flaw.kind for flaw in job_ending(plan, {0: good}, False)[1]] == [WRONG]
    assert [flaw.kind for flaw in job_ending(plan, {0: bad, 1: bad}, False)[1]] == [WRONG]
