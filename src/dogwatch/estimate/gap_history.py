"""A run's history as the gaps between the moments its counter moved, without its starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dogwatch.model import Point

WHOLE = (60.0, 1.0)  # clocks that show only whole minutes or seconds
AT_ONCE, BURSTS = 0.1, 0.12  # of the gap that takes the time: too quick to be one; of all: so many quick and long ones
TICKS = 12  # of such a clock that a gap must last, or how long it was is mostly rounding


class Gap(NamedTuple):
    """From one count to the next higher one, and when it stood at each."""

    start: float
    end: float
    began: float
    ended: float

    @property
    def steps(self) -> float:
        return self.end - self.start

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True, slots=True)
class GapHistory:
    """`gaps` in the order of time, the first of each stretch left out while there are others: a start, or a
    resume, also loads and compiles. `done` at `at` is the newest count, `first` the one its stretch began with, and
    `heard` is when anything was said last."""

    gaps: tuple[Gap, ...]
    done: float
    at: float
    first: float
    heard: float


def gap_history(points: Sequence[Point], now: float) -> GapHistory | None:
    """None when the counter never moved."""
    moments = _begun(_moments(points, now))
    stretches = [stretch for stretch in _stretches(moments) if stretch]
    if not stretches:
        return None
    started = [gap for stretch in stretches for gap in stretch[_start(stretch) :]]
    gaps = started or [gap for stretch in stretches for gap in stretch]
    newest = stretches[-1]
    tick = next((tick for tick in WHOLE if all(gap.ended % tick == 0 for gap in gaps)), 0.0)
    return GapHistory(
        tuple(_merged(gaps, TICKS * tick) if tick else _at_once(gaps)),
        newest[-1].end,
        newest[-1].ended,
        newest[0].start,
        moments[-1].at,
    )


def _stretches(moments: Sequence[Point]) -> list[list[Gap]]:
    """A counter that goes back begins a new stretch."""
    stretches: list[list[Gap]] = [[]]
    last: Point | None = None
    for point in moments:
        if last is None or point.done < last.done:
            stretches.append([])
        elif point.done == last.done:
            continue
        else:
            stretches[-1].append(Gap(last.done, point.done, last.at, point.at))
        last = point
    return stretches


def _start(stretch: Sequence[Gap]) -> int:
    """How many gaps a start fills: one; two, where the first took no time, as its count was told when it began."""
    if len(stretch) < 3 or stretch[0].seconds * stretch[1].steps >= AT_ONCE * stretch[1].seconds * stretch[0].steps:
        return 1
    return 2


def _moments(points: Sequence[Point], now: float) -> list[Point]:
    """The points in the order of time. Those of one moment were written in one go: the last counts."""
    kept: list[Point] = []
    for point in points:
        if not (math.isfinite(point.at) and math.isfinite(point.done)) or point.at > now:
            continue
        if kept and point.at <= kept[-1].at:
            if point.at == kept[-1].at:
                kept[-1] = point
            continue
        kept.append(point)
    return kept


def _begun(moments: list[Point]) -> list[Point]:
    """A zero that is told twice: the second time is when the work began, or when what is numbered 0 was done."""
    counts = [point.done for point in moments[:3]]
    return moments[1:] if counts[:2] == [0, 0] and counts[2:] != [0] else moments


def _at_once(gaps: Sequence[Gap]) -> Sequence[Gap]:
    """Counts that come in bursts were told in one go, or by several workers: they were reached in the gap before. So
    was a single one between gaps that take their time. A log that is only written more often than before goes at the
    same pace, and has none."""
    usual = _where_time_goes([gap.seconds for gap in gaps], gaps)
    pace = _where_time_goes([gap.seconds / gap.steps for gap in gaps], gaps)
    quick = [gap.seconds < AT_ONCE * min(usual, pace * gap.steps) for gap in gaps]
    long = sum(gap.seconds > usual / 2 for gap in gaps)
    bursts = min(sum(quick), long) >= BURSTS * len(gaps)
    out = [gaps[0]]
    for i, gap in enumerate(gaps[1:], 1):
        last, at_once = out[-1], quick[i] and (bursts or not (quick[i - 1] or any(quick[i + 1 : i + 2])))
        if at_once and last.end == gap.start and last.ended == gap.began:
            out[-1] = Gap(last.start, gap.end, last.began, gap.ended)
        else:
            out.append(gap)
    return out


def _where_time_goes(values: Sequence[float], gaps: Sequence[Gap]) -> float:
    """The middle one of some values of the gaps, by time."""
    ordered = sorted(zip(values, [gap.seconds for gap in gaps], strict=True))
    left = math.fsum(seconds for _, seconds in ordered) / 2
    for value, seconds in ordered:
        left -= seconds
        if left <= 0:
            return value
    return ordered[-1][0]


def _merged(gaps: Sequence[Gap], least: float) -> list[Gap]:
    """Neighbours joined until each has lasted long enough to be measured."""
    out: list[Gap] = []
    for gap in gaps:
        last = out[-1] if out else None
        if last and last.seconds < least and last.end == gap.start and last.ended == gap.began:
            out[-1] = Gap(last.start, gap.end, last.began, gap.ended)
        else:
            out.append(gap)
    if len(out) > 1 and out[-1].seconds < least / 2 and out[-2].ended == out[-1].began:
        last = out.pop()
        out[-1] = Gap(out[-1].start, last.end, out[-1].began, last.ended)
    return out
