"""Will it finish before its time limit? And if it did not, which limit to ask for next time."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Ended, Finding, Level, Outcome, Running
from dogwatch.model.time_limit import SPARE, rounded, spelled
from dogwatch.rules.interface import Case, Rule

name = "time_limit"

SURE = 0.9  # of the interval that lies wholly beyond the limit


def judge(case: Case, now: float) -> Iterator[Finding]:
    state, limit_at = case.known.state, case.facts.time_limit_at
    if isinstance(state, Running) and case.eta is not None and limit_at is not None:
        left = limit_at - now
        if case.eta.remaining > left:
            sure = case.eta.low > left and case.eta.confidence >= SURE
            needs = (now - state.since if state.since is not None else 0.0) + case.eta.high
            text = (
                f"{'will' if sure else 'may'} not finish before its time limit: about {spelled(case.eta.remaining)}"
                f" to go, {spelled(max(0.0, left))} left; it needs a limit of {spelled(rounded(SPARE * needs))}"
            )
            yield Finding(case.job.ref, name, Level.CRITICAL if sure else Level.WARNING, text)
    if isinstance(state, Ended) and state.outcome is Outcome.TIMED_OUT:
        used = case.facts.efficiency
        ask = None if used is None else used.ask_for_seconds
        advice = "" if ask is None else f"; ask for {spelled(ask)} next time"
        done = case.progress.fraction if case.progress is not None else None
        advice = f" with {100 * done:.1f} % done{advice}" if done is not None and done < 1 else advice
        yield Finding(case.job.ref, name, Level.WARNING, f"it reached its time limit{advice}", "exceeded", lasting=True)


def gone(case: Case, what: str) -> Closing:
    """When an estimate says that it will finish; not because there is none."""
    told = case.eta is not None and case.facts.time_limit_at is not None
    return Closing.RESOLVED if told and isinstance(case.known.state, Running) else Closing.OPEN


PLUGIN = Rule(name, judge=judge, gone=gone)
