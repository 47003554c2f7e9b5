"""Somebody else than its owner cancelled the job."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level, Outcome
from dogwatch.rules.interface import Case, Rule

name = "cancelled_by_others"


def judge(case: Case, now: float) -> Iterator[Finding]:
    state, by = case.known.state, case.facts.cancelled_by
    if isinstance(state, Ended) and state.outcome is Outcome.CANCELLED and by and by.is_owner is False:
        text = f"{by.name} cancelled it (not its owner); ask {by.name} why before you start it again"
        yield Finding(case.job.ref, name, Level.WARNING, text, lasting=True)


PLUGIN = Rule(name, judge=judge, states=(Ended,))
