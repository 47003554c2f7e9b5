"""A folder of the job's files leads elsewhere than when it was first looked at: nothing in it is read."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level
from dogwatch.rules.interface import Case, Rule

name = "folder_moved"


def judge(case: Case, now: float) -> Iterator[Finding]:
    for why in (case.moved or ())[:1]:
        yield Finding(case.job.ref, name, Level.WARNING, f"its files cannot be read: {why}")


def gone(case: Case, what: str) -> Closing:
    """When its folders were looked at again."""
    return Closing.OPEN if case.moved is None else Closing.RESOLVED


PLUGIN = Rule(name, judge=judge, needs="moved", gone=gone, spans_attempts=True)
