"""Nothing of the job shows outside for longer than its own pauses explain, but its processes work."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running, Standing
from dogwatch.rules.interface import Case

name = "silent"
states, needs = (Running,), "verdict"
gives_way_to = ("stalled",)


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.verdict
    if found is not None and found.word is Standing.SILENT_BUT_BUSY and isinstance(case.known.state, Running):
        yield Finding(case.job.ref, name, Level.WARNING, f"silent but busy: {found.why}")
