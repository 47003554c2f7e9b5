"""The job ended as a success by its exit codes, but what it should have produced is not there."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level, Outcome
from dogwatch.rules.interface import Case

name = "not_verified"
states, needs = (Ended,), "verified"


def judge(case: Case, now: float) -> Iterator[Finding]:
    state = case.known.state
    if not isinstance(state, Ended) or state.outcome is not Outcome.SUCCEEDED or case.verified is None:
        return
    if not case.verified.ok:
        yield Finding(case.job.ref, name, Level.CRITICAL, case.verified.text, lasting=True)
