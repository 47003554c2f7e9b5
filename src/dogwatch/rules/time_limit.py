"""Will it finish before its time limit? And if it did not, which limit to ask for next time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dogwatch.model import Closing, Ended, Finding, Level, Outcome, Running
from dogwatch.rules.interface import Case

name = "time_limit"

# Limits are asked for in steps of ten minutes, with a tenth to spare.
STEP, SPARE = 600.0, 1.1
SURE = 0.9  # of the interval that lies wholly beyond the limit


def judge(case: Case, now: float) -> Iterator[Finding]:
    state, limit_at = case.known.state, case.facts.get("time_limit_at")
    if isinstance(state, Running) and case.eta is not None and isinstance(limit_at, (int, float)):
        left = limit_at - now
        if case.eta.remaining > left:
            sure = case.eta.low > left and case.eta.confidence >= SURE
            needs = (now - state.since if state.since is not None else 0.0) + case.eta.high
            text = (
                f"{'will' if sure else 'may'} not finish before its time limit: about {_spell(case.eta.remaining)}"
                f" to go, {_spell(max(0.0, left))} left; it would take a limit of {_spell(_ask(needs))}"
            )
            yield Finding(case.job.ref, name, Level.CRITICAL if sure else Level.WARNING, text)
    if isinstance(state, Ended) and state.outcome is Outcome.TIMED_OUT:
        ask = (case.facts.get("efficiency") or {}).get("ask_for_seconds")
        advice = f"; ask for {_spell(ask)} next time" if isinstance(ask, (int, float)) else ""
        yield Finding(
            case.job.ref, name, Level.WARNING, f"it ran into its time limit{advice}", "exceeded", lasting=True
        )


def gone(case: Case, what: str) -> Closing:
    """When an estimate says that it will finish; not because there is none."""
    told = case.eta is not None and case.facts.get("time_limit_at") is not None
    return Closing.RESOLVED if told and isinstance(case.known.state, Running) else Closing.OPEN


def _ask(seconds: float) -> float:
    return math.ceil(seconds * SPARE / STEP) * STEP


def _spell(seconds: float) -> str:
    """As Slurm's --time takes it: 45 min, or D-HH:MM:SS for what is longer than an hour."""
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    minutes = round(seconds / 60)
    days, hours = divmod(minutes // 60, 24)
    return f"{days}-{hours:02d}:{minutes % 60:02d}:00" if days else f"{hours:02d}:{minutes % 60:02d}:00"
