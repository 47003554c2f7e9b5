"""Lines that an error pattern matches, one finding for each pattern. A job that goes on after them has not failed."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dogwatch.model import ErrorGroup, Finding, Level
from dogwatch.rules.interface import Case

name = "error_pattern"
needs = "errors"


def judge(case: Case, now: float) -> Iterator[Finding]:
    for group in case.errors:
        level = Level.CRITICAL if group.level == "critical" else Level.WARNING
        yield Finding(case.job.ref, name, level, _tell(group), group.pattern, lasting=True)


def _tell(group: ErrorGroup) -> str:
    if group.count == 1:
        return f"the log says: {group.text}"
    last = time.strftime("%H:%M", time.localtime(group.at))
    return f"{group.count:,} × {group.words or group.pattern}, last {last}: {group.text}"
