"""An output that nobody writes any more is not whole."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Rule

name = "output_broken"

MOST = 4  # each by its name; the others are only counted


def judge(case: Case, now: float) -> Iterator[Finding]:
    broken = case.made.broken if case.made is not None else ()
    more = f" ({len(broken) - MOST} more like it)" if len(broken) > MOST else ""
    for spoilt in broken[:MOST]:
        text = f"{spoilt.path} {spoilt.why}{more}; {spoilt.do}"
        yield Finding(case.job.ref, name, Level.WARNING, text, spoilt.path)


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="made")
