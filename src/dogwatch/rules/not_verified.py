"""The job ended, but what it should have done or left is not all there, or contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Outcome
from dogwatch.model.outcome import LEVELS
from dogwatch.rules.interface import Case, Rule

name = "not_verified"


def judge(case: Case, now: float) -> Iterator[Finding]:
    outcome = case.known.outcome
    if outcome is Outcome.INCOMPLETE:
        yield Finding(case.job.ref, name, LEVELS[outcome], f"incomplete: {case.known.why}", lasting=True)


PLUGIN = Rule(name, judge=judge, states=(Ended,))
