"""What the decision table says of a run on a machine that it has to itself: what is seen, and the one thing to do."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding
from dogwatch.rules.interface import Case, Rule

name = "box"


def judge(case: Case, now: float) -> Iterator[Finding]:
    box = case.facts.box
    for decision in box.decisions if box is not None else ():
        if decision.alerts:
            yield Finding(case.job.ref, name, decision.level, f"{decision.says}; {decision.do}", decision.name)


PLUGIN = Rule(name, judge=judge, needs="facts")
