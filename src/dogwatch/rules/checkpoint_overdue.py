"""Checkpoints came regularly, and the next one is late while the job goes on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import lasting

name = "checkpoint_overdue"

LEAST = 4  # checkpoints before anybody can call them regular
TOGETHER = 0.1  # of the longest pause: those that several workers write count as one
TIMES_USUAL, MARGIN = 2.5, 60.0


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not isinstance(case.known.state, Running):
        return
    gaps = [later - earlier for earlier, later in pairwise(sorted(case.checkpoints))]
    waves = [gap for gap in gaps if gap > TOGETHER * max(gaps)] if gaps else []
    if len(waves) + 1 < LEAST:
        return
    usual, longest = median(waves), max(waves)
    late = now - max(case.checkpoints)
    if late > max(TIMES_USUAL * usual, longest * 1.5) + MARGIN:
        text = f"no checkpoint for {lasting(late)}; before, one came about every {lasting(usual)}"
        yield Finding(case.job.ref, name, Level.WARNING, text)


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="checkpoints")
