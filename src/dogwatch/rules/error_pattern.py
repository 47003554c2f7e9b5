"""A line that the owner's own error pattern names. Words that merely look bad are never a finding."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import Case

name = "error_pattern"
needs = "troubles"


def judge(case: Case, now: float) -> Iterator[Finding]:
    for trouble in case.troubles:
        level = Level.CRITICAL if trouble.level == "critical" else Level.WARNING
        yield Finding(case.job.ref, name, level, f"the log says: {trouble.text}", trouble.pattern, lasting=True)
