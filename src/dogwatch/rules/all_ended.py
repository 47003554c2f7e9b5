"""All workers ended and it was not a success."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level, Outcome
from dogwatch.rules.interface import Case

name = "all_ended"
states = (Ended,)


def judge(case: Case, now: float) -> Iterator[Finding]:
    state = case.known.state
    if not isinstance(state, Ended) or state.outcome is Outcome.SUCCEEDED:
        return
    unknown = state.outcome is Outcome.UNKNOWN
    text = f"ended, {'outcome unknown' if unknown else state.outcome.value.replace('_', ' ')}"
    if state.reason:
        text += f": {state.reason}"
    text += _why(case)
    yield Finding(case.job.ref, name, Level.WARNING if unknown else Level.CRITICAL, text, lasting=True)


def _why(case: Case) -> str:
    """The likeliest cause and the line that shows it, in few words."""
    found = case.diagnosis
    if found is None or found["cause"] == "unknown":
        return ""
    shown = next((quote for quote in found["evidence"] if quote["line"] is not None), None)
    where = f" ({shown['file'].rpartition('/')[2]}:{shown['line']})" if shown is not None else ""
    return f"; likely {found['cause']}: {found['title']}{where}"
