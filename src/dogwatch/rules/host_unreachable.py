"""A place does not answer: one finding for the place, however many jobs live there."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import PlaceCase, Rule

name = "host_unreachable"

# One late answer happens on any loaded machine; the second in a row is news.
LEAST_FAILED_POLLS = 2


def judge_place(case: PlaceCase, now: float) -> Iterator[Finding]:
    if case.failed_polls < (1 if case.locked_out else LEAST_FAILED_POLLS):
        return
    jobs = f"{case.jobs} job{'' if case.jobs == 1 else 's'} could not be checked since"
    yield Finding(f"place:{case.place}", name, Level.WARNING, f"{case.place} does not answer ({case.why}); {jobs}")


PLUGIN = Rule(name, judge_place=judge_place)
