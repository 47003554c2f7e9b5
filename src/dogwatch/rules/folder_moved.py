"""A folder of the job's files leads elsewhere than when it was first looked at: nothing in it is read."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import Case, Rule

name = "folder_moved"


def judge(case: Case, now: float) -> Iterator[Finding]:
    for why in list(case.facts.get("moved") or ())[:1]:
        yield Finding(case.job.ref, name, Level.WARNING, f"its files cannot be read: {why}")


PLUGIN = Rule(name, judge=judge, needs="facts", spans_attempts=True)
