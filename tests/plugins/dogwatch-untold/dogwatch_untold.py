"""A rule: a job that runs and that nobody described, so that whoever is on call does not know what it is for."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Rule

name = "untold"


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not case.job.description:
        text = "nobody said what it is for; describe it with --description when you start it"
        yield Finding(case.job.ref, name, Level.WARNING, text)


PLUGIN = Rule(name, judge=judge, states=(Running,))
