"""Attempt after attempt ends where the one before ended: restarting it again will not help."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.model.outcome import GOOD
from dogwatch.rules.interface import Case, Rule

name = "no_progress"

ENOUGH = 3


def judge(case: Case, now: float) -> Iterator[Finding]:
    attempts = case.made.attempts if case.made is not None else ()
    if case.known.outcome in GOOD:
        return
    last = attempts[-ENOUGH:]
    if len(last) < ENOUGH or len({kind for kind, _ in last}) > 1:
        return
    kind, reached = last[0]
    numbers = [number for _, number in last]
    # Without a checkpoint a counter may begin anew at every attempt: only one that ends at the very same place tells.
    if max(numbers) > reached or (kind == "step" and min(numbers) < reached):
        return
    what = "checkpoint of iteration" if kind == "checkpoint" else "step"
    text = f"{_count(attempts)} attempts in a row got no further than {what} {reached:,.0f}"
    text += "; starting it again will not help: `dogwatch why` says what ended the last one"
    yield Finding(case.job.ref, name, Level.CRITICAL, text, what)


def _count(attempts: tuple[tuple[str, float], ...]) -> int:
    """How many of the last ones came no further than the first of them."""
    count = 1
    for earlier, later in zip(reversed(attempts[:-1]), reversed(attempts[1:]), strict=True):
        if earlier[0] != later[0] or later[1] > earlier[1]:
            break
        count += 1
    return count


PLUGIN = Rule(name, judge=judge, needs="made", spans_attempts=True)
