"""A place does not answer: one finding for the place, however many jobs live there."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import PlaceCase

name = "place_dark"

# One late answer happens on any loaded machine; the second in a row is news.
LOOKS = 2


def judge_place(case: PlaceCase, now: float) -> Iterator[Finding]:
    if case.dark_looks < (1 if case.locked_out else LOOKS):
        return
    jobs = f"{case.jobs} job{'' if case.jobs == 1 else 's'} not confirmed since"
    yield Finding(f"place:{case.place}", name, Level.WARNING, f"{case.place} does not answer ({case.why}); {jobs}")
