"""A job's history as a few points, how fast it moves, and several workers' counters as one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

from dogwatch.model import Point, Step

MOST, THINNED = 256, 192
EARLIER = 64  # points that are kept of an earlier attempt
RECENT_POINTS = 32  # the newest, which are kept as they came
EVEN = 0.05
RECENT = 60.0  # seconds that "now" reaches back, where the counter moves that often
NOT_ITEMS = frozenset({"epochs", "%", "steps", "iterations", "batches", "it"})
SHARED = frozenset({"epochs", "%"})  # every worker counts the same ones


def add(points: list[Point], point: Point) -> None:
    """Put one more point into a history, which is thinned to `MOST`. A counter that went back resumed: what it had
    counted beyond there is dropped. A clock that went back moves the history with it."""
    if not (math.isfinite(point.at) and math.isfinite(point.done)):
        return
    if points and (points[-1].done > point.done or points[-1].at > point.at):
        points[:] = [old for old in points if old.done <= point.done]
    if points and points[-1].at > point.at:
        shift = point.at - points[-1].at
        points[:] = [Point(old.at + shift, old.done) for old in points[:-1]]
    elif points and points[-1].at == point.at:
        points.pop()
    elif len(points) > 1 and points[-1].done == points[-2].done == point.done:
        points.pop()  # a plateau needs its two ends only
    points.append(point)
    if len(points) > MOST:
        points[:] = thinned(points, THINNED)


def keep_earlier(points: Sequence[Point], earlier: Sequence[Point], point: Point) -> tuple[Point, ...]:
    """The course of an earlier attempt, to be asked for before `point` is added: where the counter goes back, what
    it had come to is kept, unless an attempt before has come further."""
    if not points or not point.done < points[-1].done or (earlier and earlier[-1].done > points[-1].done):
        return tuple(earlier)
    return thinned(list(points), EARLIER)


def thinned(points: Sequence[Point], most: int) -> tuple[Point, ...]:
    """Without those that tell least, down to `most`: the first, the newest and every corner (a pause, a change
    of pace) stay, and what is straight keeps points at even distances."""
    n = len(points)
    before, after, gone = list(range(-1, n - 1)), list(range(1, n + 1)), [False] * n
    heap = [(_told(points[i - 1], points[i], points[i + 1]), i) for i in range(1, n - RECENT_POINTS)]
    heapify(heap)
    left = n - most
    while heap and left > 0:
        worth, i = heappop(heap)
        if gone[i] or worth < _told(points[before[i]], points[i], points[after[i]]):
            continue  # it tells more since a neighbour went: that entry comes later
        gone[i], left = True, left - 1
        a, b = before[i], after[i]
        after[a], before[b] = b, a
        for j in (a, b):
            if 0 < j < n - RECENT_POINTS:
                heappush(heap, (_told(points[before[j]], points[j], points[after[j]]), j))
    return tuple(point for point, out in zip(points, gone, strict=True) if not out)


def _told(a: Point, b: Point, c: Point) -> float:
    """How much the curve through a, b and c loses without b: the corner it makes and the way it marks."""
    seconds, way = c.at - a.at, c.done - a.done
    return abs(seconds * (b.done - a.done) - way * (b.at - a.at)) + EVEN * seconds * way


def rates(points: Sequence[Point], now: float) -> tuple[float | None, float | None]:
    """(units per second now, on average); None where nothing moved yet. Silence longer than the usual gap
    counts as time passed, so a stalled job's rate falls."""
    if len(points) < 2 or points[-1].done <= points[0].done:
        return None, None
    last = points[-1]
    gaps = [b.at - a.at for a, b in zip(points[-9:], points[-8:], strict=False)]
    end = now if now - last.at > 2 * max(gaps) else last.at
    since = next((p for p in reversed(points[:-1]) if end - p.at >= RECENT), points[0])
    return _rate(since, last, end), _rate(points[0], last, end)


def last_rate(points: Sequence[Point]) -> float | None:
    """Units per second when a counter last moved, over a tenth of its run, so that a validation is in it as often as in
    the whole; what came after it, and before it fell, does not count. None where nothing moved for a second."""
    moves = [at for at in range(1, len(points)) if points[at].done > points[at - 1].done]
    if not moves:
        return None
    fell = max((at for at in range(1, moves[-1]) if points[at].done < points[at - 1].done), default=0)
    last = points[moves[-1]]
    window = max(RECENT, (last.at - points[fell].at) / 10)
    since = next((point for point in reversed(points[fell : moves[-1]]) if last.at - point.at >= window), points[fell])
    return _rate(since, last, last.at) if last.at - since.at >= 1 else None


def _rate(start: Point, last: Point, end: float) -> float | None:
    seconds = end - start.at
    rate = (last.done - start.done) / seconds if seconds > 0 else math.inf
    return rate if math.isfinite(rate) else None


def combine(steps: Mapping[Any, Step], total_items: float | None = None) -> Step | None:
    """One counter for a job of several workers: done and totals summed where units agree (the unit that
    most workers use), epochs and percents averaged. The user's own total selects the counters of
    items, and wins wherever those are counted."""
    if not steps:
        return None
    units = Counter([step.unit for step in steps.values()])
    if total_items and (counted := {unit: units[unit] for unit in units if unit not in NOT_ITEMS}):
        units = Counter(counted)
    unit = max(units, key=lambda unit: (units[unit], unit))
    agreeing = [step for step in steps.values() if step.unit == unit]
    share = len(agreeing) if unit in SHARED else 1
    totals = [step.total for step in agreeing if step.total]
    total = math.fsum(totals) / share if len(totals) == len(agreeing) else None
    speeds = [step.rate for step in agreeing if step.rate is not None]
    rate = math.fsum(speeds) / share if len(speeds) == len(agreeing) else None
    done = math.fsum(step.done for step in agreeing) / share
    if total_items and (unit not in NOT_ITEMS or (total is None and unit not in SHARED)):
        total = float(total_items)
    best = max(agreeing, key=lambda step: step.rank)
    return replace(best, done=done, total=total, unit=unit, rate=rate)
