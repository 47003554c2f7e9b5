"""Milestones: counts at which a job may do something for the first time, such as a first validation; pure.

A first validation, checkpoint or export comes at the end of an epoch, at a fraction of the total, at a round number of
steps or at the end; or where the job's own configuration says. Between two milestones nothing new is due: a job that
has done a good part of its work has little reason there for a silence longer than any before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from dogwatch.estimate.planned_stops import EPOCHS, NO_STOPS, PlannedStops, planned_stops
from dogwatch.model import Interval, Point

COUNTED = 12  # moves of the counter before its stride is known
# Of so many of the newest moves the stride is the lower quarter, and a milestone may lie so many strides ahead.
STRIDE, WIDE = 15, 1.5
GONE, LINES = 0.12, 300  # of the whole that was seen, or strides, without a pause, until nothing new is due
PASSED = 2  # ends of epochs after which they are no news
LATE_PARTS = (2, 3, 4, 5, 6, 8, 10)  # into which a whole is cut by jobs that begin to validate late
MOST_PARTS = 400
EVERY = (1, 2, 5)  # epochs from one validation to the next
ROUND = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
SHARE = "%"
_NEAR = 1e-6


class Position(Enum):
    """Where the counter of a job is."""

    UNKNOWN = "unknown"
    MILESTONE = "milestone"  # something may begin here
    EARLY = "early"  # and here, because the run has hardly begun
    BETWEEN = "between milestones"


@dataclass(frozen=True, slots=True)
class RunPosition:
    """Where a job is in its run. `share_seen` is the share of its total that was watched, and `total_seconds` what all
    of it takes at the pace so far, None without a total. `epochs_known`: a configuration says when the job saves and
    evaluates, or a counter of epochs has passed some, which also gives `epoch_seconds`. `due`: the first stop that the
    configuration names is near. `to_target`: the run ends at a target, so its total is not known."""

    position: Position = Position.UNKNOWN
    share_seen: float = 0.0
    total_seconds: float | None = None
    epochs_known: bool = False
    epoch_seconds: float | None = None
    to_target: bool = False
    due: bool = False


UNKNOWN_POSITION = RunPosition()


@dataclass(frozen=True, slots=True)
class Count:
    """A counter: where it was first seen, where it is, and by how much it moves from line to line."""

    first: float
    done: float
    stride: float
    unit: str


def run_position(
    points: Sequence[Point],
    total: float | None,
    unit: str,
    *,
    paused: bool = False,
    intervals: Iterable[Interval] = (),
) -> RunPosition:
    """The position of a job by its counter, and by what its configuration says of `intervals`."""
    steps, seconds = (points[-1].done - points[0].done, points[-1].at - points[0].at) if points else (0.0, 0.0)
    passed = unit == EPOCHS and steps >= PASSED and seconds > 0
    epoch = seconds / steps if passed else None
    count = counted(points, unit)
    if count is None:
        return RunPosition(epoch_seconds=epoch)
    stops = planned_stops(intervals, unit, count.stride)
    whole = total if total is not None and math.isfinite(total) and total > 0 else None
    found = position(count, whole, stops, paused=paused)
    if found is Position.UNKNOWN:
        return UNKNOWN_POSITION
    known = RunPosition(found, epochs_known=stops.all or passed, epoch_seconds=epoch, due=_is_due(count, stops))
    if whole is None or not (steps > 0 and seconds > 0):
        return known
    return replace(known, share_seen=steps / whole, total_seconds=seconds * (whole / steps))


def counted(points: Sequence[Point], unit: str) -> Count | None:
    """The counter of these points; None where it has hardly moved."""
    moves = [b.done - a.done for a, b in pairwise(points[-STRIDE - 1 :]) if b.done > a.done]
    if len(points) <= COUNTED or not moves:
        return None
    stride = sorted(moves)[len(moves) // 4]
    known = math.isfinite(stride) and math.isfinite(points[0].done)
    return Count(points[0].done, points[-1].done, stride, unit) if known else None


def position(count: Count, whole: float | None, stops: PlannedStops = NO_STOPS, *, paused: bool = False) -> Position:
    """What lies within the next stride of this counter; unknown without a total, unless it counts epochs or all stops
    are known. Early in a run every count may be a milestone, until a pause was seen, which shows what the job does."""
    slack = _NEAR * (whole or abs(count.done))
    near, far = count.done - slack, count.done + WIDE * count.stride + slack
    stop = any(_next_multiple(every, near) <= far for every in stops.every)
    if stop or _ends_epoch(stops.epoch, count, near, far) or (whole is not None and far >= whole):
        return Position.MILESTONE
    if stops.all:
        return Position.BETWEEN
    if whole is None:
        return Position.UNKNOWN if count.unit != EPOCHS else _among(count, near, far, [])
    early = PASSED if count.unit == EPOCHS else min(GONE * whole, LINES * count.stride)
    found = _between(count, near, far, whole)
    hardly = not paused and count.done - count.first < early
    return Position.EARLY if hardly and found is Position.BETWEEN else found


def _is_due(count: Count, stops: PlannedStops) -> bool:
    """Whether the first of the stops that a configuration names is near."""
    slack = _NEAR * abs(count.done)
    near, far = count.done - slack, count.done + WIDE * count.stride + slack
    return any(near <= _first_multiple(every, count.first) <= far for every in stops.every)


def _ends_epoch(epoch: float | None, count: Count, near: float, far: float) -> bool:
    """Whether one of the first epochs ends near."""
    return (
        epoch is not None and near <= _first_multiple(epoch, count.first, PASSED) and _next_multiple(epoch, near) <= far
    )


def _between(count: Count, near: float, far: float, total: float) -> Position:
    """An epoch is a whole number of steps, and some totals count one more or less."""
    most = int(min(MOST_PARTS, max(*LATE_PARTS, max(EVERY) * (total / max(near - count.first, count.stride) + 1))))
    whole = [part for part in range(2, most + 1) if count.unit == SHARE or total % 1 or total % part == 0]
    nearly = [part for part in range(2, most + 1) if (total + 1) % part <= 2]
    periods = [every * total / part for part in whole for every in EVERY] + [total / part for part in nearly]
    late = (total / part for part in whole if part in LATE_PARTS)
    if any(_next_multiple(period, near) <= far for period in late):
        return Position.MILESTONE
    return _among(count, near, far, periods)


def _among(count: Count, near: float, far: float, periods: Sequence[float]) -> Position:
    """Whether the first multiple of a period, or of a round number, is near; a counter of epochs passes them whole."""
    least = max(1.0, count.stride) if count.unit == EPOCHS else count.stride
    if count.unit == EPOCHS:
        periods = [period for period in periods if period >= 1]
    firsts = (_first_multiple(period, count.first) for period in (*periods, *_round(least, far)))
    return Position.MILESTONE if any(near <= first <= far for first in firsts) else Position.BETWEEN


def _round(stride: float, most: float) -> list[float]:
    """Round numbers from the stride up."""
    if most < stride or not math.isfinite(most):
        return []
    low, high = math.floor(math.log10(stride)), math.floor(math.log10(most))
    if high - low > 12:
        return []
    tens = [leading * 10.0**power for power in range(low, high + 1) for leading in ROUND]
    return [period for period in tens if stride <= period <= most]


def _next_multiple(period: float, at: float) -> float:
    times = at / period
    return math.ceil(times) * period if math.isfinite(times) else at


def _first_multiple(period: float, after: float, times: float = 1) -> float:
    """The first one that the job has come to since it was seen to begin; later ones are no longer news."""
    before = after / period
    return (math.floor(before) + times) * period if math.isfinite(before) else after
