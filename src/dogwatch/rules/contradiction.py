"""One witness says success and another says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level
from dogwatch.rules.interface import Case

name = "contradiction"
states, needs = (Ended,), "facts"


def judge(case: Case, now: float) -> Iterator[Finding]:
    against = case.facts.get("contradiction")
    if against and isinstance(case.known.state, Ended):
        yield Finding(case.job.ref, name, Level.WARNING, str(against), lasting=True)
