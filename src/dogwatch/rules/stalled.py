"""Nothing of the job has moved for longer than its own pauses explain, and its processes do not work either."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running, Standing
from dogwatch.rules.interface import Case

name = "stalled"
states, needs = (Running,), "verdict"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.verdict
    if found is not None and found.word is Standing.STALLED and isinstance(case.known.state, Running):
        yield Finding(case.job.ref, name, Level.CRITICAL, f"stalled: {found.why}")
