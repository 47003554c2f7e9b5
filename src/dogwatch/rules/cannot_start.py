"""A waiting job that will not start by itself: it never can as it is, or somebody has to release it."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Ended, Finding, Level, Running, Waiting
from dogwatch.rules.interface import Case, Rule

name = "cannot_start"


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not isinstance(case.known.state, Waiting):
        return
    never, held = case.facts.never_starts, case.facts.held
    if never:
        yield Finding(case.job.ref, name, Level.CRITICAL, f"it can never start: {never}", "never")
    elif held:
        yield Finding(case.job.ref, name, Level.WARNING, f"it will not start without help: {held}", "held")


def gone(case: Case, what: str) -> Closing:
    """When it runs or has run, or waits for nothing of the kind; one that was cancelled before never started."""
    never_ran = isinstance(case.known.state, Ended) and not case.facts.started_at
    return Closing.ENDED_WITH_JOB if never_ran else Closing.RESOLVED


PLUGIN = Rule(
    name,
    judge=judge,
    states=(Waiting,),
    gone=gone,
    gone_in=(Waiting, Running, Ended),  # not when it is merely missing
    gives_way_to=("cannot_start",),
)
