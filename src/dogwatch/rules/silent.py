"""Nothing of the job shows outside for longer than its own pauses explain, but its processes work."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running, StallState
from dogwatch.rules.interface import Case, Rule

name = "silent"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.verdict
    busy = found is not None and found.word is StallState.SILENT_BUT_BUSY and isinstance(case.known.state, Running)
    if found is not None and busy and not _is_warned(case):
        yield Finding(case.job.ref, name, Level.WARNING, f"silent but busy: {found.why}")


def _is_warned(case: Case) -> bool:
    """Whether the warning of no progress at all, which came first, stands for this one too."""
    limit = case.job.expect.stall_warning
    silence_limit = case.verdict.silence_limit if case.verdict is not None else None
    return bool(case.stood) and limit is not None and (silence_limit or 0.0) >= limit


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="verdict", gives_way_to=("stalled",))
