"""Some evidence says success and some says otherwise, or more was counted than there is."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level
from dogwatch.model.outcome import GOOD
from dogwatch.rules.interface import Case, Rule

name = "contradiction"


def judge(case: Case, now: float) -> Iterator[Finding]:
    against = case.facts.contradiction
    if against and isinstance(case.known.state, Ended) and str(against) not in case.known.why:
        yield Finding(case.job.ref, name, Level.WARNING, against, lasting=True)
    progress = case.progress
    told = isinstance(case.known.state, Ended) and case.known.outcome not in GOOD  # the outcome says it
    if progress is not None and progress.is_too_much and not told:
        text = (
            f"its logs count {progress.step:,.0f} of {progress.total:,.0f} {progress.unit}: more than there are;"
            " check --total-items, and whether several logs count the same"
        )
        yield Finding(case.job.ref, name, Level.WARNING, text, "too much")


PLUGIN = Rule(name, judge=judge)
