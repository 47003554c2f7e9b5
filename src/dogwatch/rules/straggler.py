"""One worker falls behind others that do the same work."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case

name = "straggler"
states, needs = (Running,), "straggler"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.straggler
    if found is None or not isinstance(case.known.state, Running):
        return
    who = f"worker {found.worker}"
    yield Finding(case.job.ref, name, Level.WARNING, f"{who} {found.why}", who)
