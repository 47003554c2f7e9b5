"""The job ended, and it was not a success; what is only incomplete is said by not_verified."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level, Outcome
from dogwatch.model.outcome import LEVELS, in_words
from dogwatch.rules.interface import Case, Rule

name = "all_ended"


def judge(case: Case, now: float) -> Iterator[Finding]:
    state = case.known.state
    outcome = case.known.outcome
    if not isinstance(state, Ended) or outcome is None or outcome is Outcome.INCOMPLETE:
        return
    level = LEVELS[outcome]
    if level is Level.INFO:
        return
    text = f"ended, {in_words(outcome).removeprefix('ended, ')}"
    reason = case.known.why or state.reason
    if reason:
        text += f": {reason}"
    text += _why(case)
    yield Finding(case.job.ref, name, level, text, lasting=True)


def _why(case: Case) -> str:
    """The likeliest cause and the line that shows it, in few words."""
    found = case.diagnosis
    if found is None or found["cause"] == "unknown":
        return ""
    shown = next((quote for quote in found["evidence"] if quote["line"] is not None), None)
    where = f" ({shown['file'].rpartition('/')[2]}:{shown['line']})" if shown is not None else ""
    return f"; likely {found['cause']}: {found['title']}{where}"


PLUGIN = Rule(name, judge=judge, states=(Ended,))
