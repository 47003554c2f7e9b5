"""How others estimate, for comparison: each makes seconds (or None) of the points so far, a total and now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from dogwatch.model import Point

SMOOTHING = 0.3  # tqdm's
WINDOW = 300.0

Baseline: TypeAlias = Callable[[Sequence[Point], float, float], float | None]


def linear(points: Sequence[Point], total: float, now: float) -> float | None:
    """By the average since the beginning."""
    first, last = points[0], points[-1]
    return (
        _left(points, total, now, (last.at - first.at) / (last.done - first.done)) if last.done > first.done else None
    )


def linear_without_start(points: Sequence[Point], total: float, now: float) -> float | None:
    """By the average since the counter first moved."""
    moved = [point for point in points if point.done > points[0].done]
    return linear(moved if len(moved) > 1 and moved[-1].done > moved[0].done else points, total, now)


def smoothed(points: Sequence[Point], total: float, now: float) -> float | None:
    """By an exponentially smoothed pace, as tqdm does it."""
    pace: float | None = None
    for each in _paces(points):
        pace = each if pace is None else SMOOTHING * each + (1 - SMOOTHING) * pace
    return None if pace is None else _left(points, total, now, pace)


def last_minutes(points: Sequence[Point], total: float, now: float) -> float | None:
    """By the average of the last five minutes, or the last move if they saw none."""
    recent = [point for point in points if point.at >= now - WINDOW]
    if len(recent) > 1 and recent[-1].done > recent[0].done:
        return _left(points, total, now, (recent[-1].at - recent[0].at) / (recent[-1].done - recent[0].done))
    paces = _paces(points)
    return _left(points, total, now, paces[-1]) if paces else None


def most_conservative(points: Sequence[Point], total: float, now: float) -> float | None:
    """The longest of the three before."""
    each = (linear_without_start(points, total, now), smoothed(points, total, now), last_minutes(points, total, now))
    return max((seconds for seconds in each if seconds is not None), default=None)


BASELINES: Mapping[str, Baseline] = {
    "linear": linear,
    "linear without start-up": linear_without_start,
    "tqdm's EMA (0.3)": smoothed,
    "last 5 minutes": last_minutes,
    "longest of these three": most_conservative,
}


def _paces(points: Sequence[Point]) -> list[float]:
    paces = []
    before = points[0]
    for point in points[1:]:
        if point.done > before.done:
            paces.append((point.at - before.at) / (point.done - before.done))
            before = point
    return paces


def _left(points: Sequence[Point], total: float, now: float, pace: float) -> float:
    return max(0.0, points[-1].at + (total - points[-1].done) * pace - now)
