"""The job moves, and has been much slower than it was for so long that it is no phase."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running, StallState
from dogwatch.rules.interface import Case, Rule

name = "slow"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.verdict
    if found is not None and found.word is StallState.SLOW and isinstance(case.known.state, Running):
        yield Finding(case.job.ref, name, Level.WARNING, f"slow: {found.why}")


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="verdict", gives_way_to=("stalled", "silent"))
