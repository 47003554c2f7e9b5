"""Nothing of the job has moved for longer than its own pauses explain, and its processes do not work either; or, as a
warning, for longer than its owner wants to wait for a word."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running, StallState
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import lasting

name = "stalled"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.verdict
    if found is None or not isinstance(case.known.state, Running):
        return
    if found.word is StallState.STALLED:
        yield Finding(case.job.ref, name, Level.CRITICAL, f"stalled: {found.why}")
    elif warns(case):
        limit = f"; it counts as stalled after {lasting(found.silence_limit)} of silence" if found.silence_limit else ""
        text = f"no progress for more than {lasting(case.job.expect.stall_warning or 0.0)}{limit}"
        yield Finding(case.job.ref, name, Level.WARNING, text)


def warns(case: Case) -> bool:
    """Whether its owner is warned before it is called stalled. One that was called silent but busy before that has had
    its warning."""
    found, limit = case.verdict, case.job.expect.stall_warning
    if not case.stood or limit is None or found is None:
        return False
    return found.word is not StallState.SILENT_BUT_BUSY or (found.silence_limit or 0.0) >= limit


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="verdict")
