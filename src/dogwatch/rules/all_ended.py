"""All workers ended and it was not a success."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level, Outcome
from dogwatch.rules.interface import Case

name = "all_ended"


def judge(case: Case, now: float) -> Iterator[Finding]:
    state = case.known.state
    if not isinstance(state, Ended) or state.outcome is Outcome.SUCCEEDED:
        return
    unknown = state.outcome is Outcome.UNKNOWN
    text = f"ended, {'outcome unknown' if unknown else state.outcome.value.replace('_', ' ')}"
    if state.reason:
        text += f": {state.reason}"
    yield Finding(case.job.ref, name, Level.WARNING if unknown else Level.CRITICAL, text, lasting=True)
