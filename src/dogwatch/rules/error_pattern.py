"""Lines that an error pattern matches, one finding for each pattern. A job that goes on after them has not failed.
Lines that a crash is told with are not told a second time, where nobody asked for the pattern."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dogwatch.model import ErrorGroup, Finding, Level, Outcome
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import plain

name = "error_pattern"
QUOTED = 200  # characters of a line by which it is known again


def judge(case: Case, now: float) -> Iterator[Finding]:
    for group in case.errors:
        if group.is_default and group.count <= _told(case, plain(group.text, QUOTED)):
            continue
        level = Level.CRITICAL if group.level == "critical" else Level.WARNING
        yield Finding(case.job.ref, name, level, _tell(group), group.pattern, lasting=True)


def _told(case: Case, line: str) -> int:
    """How many crashes are told with this line: those of workers, or that of the job."""
    workers = sum(one.outcome not in (None, Outcome.SUCCEEDED) and line in one.reason for one in case.workers)
    evidence = case.diagnosis["evidence"] if case.diagnosis is not None else ()
    return workers or int(any(line in plain(one["text"]) for one in evidence))


def _tell(group: ErrorGroup) -> str:
    if group.count == 1:
        return f"the log says: {group.text}"
    last = time.strftime("%H:%M", time.localtime(group.at))
    return f"{group.count:,} × {group.words or group.pattern}, last {last}: {group.text}"


PLUGIN = Rule(name, judge=judge, needs="errors")
