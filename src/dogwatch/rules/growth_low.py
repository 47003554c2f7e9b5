"""Outputs grow more slowly than their owner said they must."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running
from dogwatch.rules.interface import Case, Rule

name = "growth_low"


def judge(case: Case, now: float) -> Iterator[Finding]:
    least, made = case.job.expect.min_growth, case.made
    if least is None or made is None or made.growth is None or made.growth >= least:
        return
    seen = f"{_spell(made.growth)} over the last half hour"
    text = f"outputs grow by {seen}, less than the {_spell(least)} expected; check its log and its output directory"
    yield Finding(case.job.ref, name, Level.WARNING, text)


def gone(case: Case, what: str) -> Closing:
    return Closing.RESOLVED if case.made is not None and case.made.growth is not None else Closing.OPEN


def _spell(rate: float) -> str:
    """Bytes per second as people say it."""
    hourly = rate * 3600
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if hourly >= size:
            return f"{hourly / size:.3g} {unit}/h"
    return f"{hourly:.0f} B/h" if hourly else "nothing"


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="made", gone=gone)
