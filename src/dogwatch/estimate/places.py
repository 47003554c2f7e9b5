"""Places: counts at which jobs begin what they have not done before; pure.

A first validation, checkpoint or export comes at the end of an epoch, at a part of the whole, at a round number of
steps or at the end. Between two such places, on the open road, nothing new is due: a job that has gone a good part of
its way, and whose counter tells where it is, has little reason there for a silence that it has never shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from dogwatch.model import Point

COUNTED = 12  # moves of the counter before its stride is known
STRIDE, WIDE = (
    15,
    1.5,
)  # of the newest moves the stride is the lower quarter, and how many strides ahead a place may lie
GONE = 0.12  # of the whole that was seen, without a pause, before the road counts as open
LATE_PARTS = (2, 3, 4, 5, 6, 8, 10)  # into which a whole is cut by jobs that begin to validate late
MOST_PARTS = 400
EVERY = (1, 2, 5)  # epochs from one validation to the next
ROUND = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
EPOCHS, SHARE = "epochs", "%"
_NEAR = 1e-6


class Ground(Enum):
    """Where a job is on its way."""

    UNKNOWN = "unknown"
    PLACE = "place"  # something may begin here
    LATE = "late"  # only what did not begin where it usually does: a validation that starts after half of the run
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Way:
    """Where a job is: on which ground, how much of the whole it was seen to do, and the seconds that the whole takes
    at its pace so far, None where no total tells that."""

    ground: Ground = Ground.UNKNOWN
    gone: float = 0.0
    whole: float | None = None


LOST = Way()


def way(points: Sequence[Point], total: float | None, unit: str, *, paused: bool = False) -> Way:
    """Where on its way a job is by its counter."""
    found = ground(points, total, unit, paused=paused)
    if found is Ground.UNKNOWN or total is None:
        return LOST
    steps, seconds = points[-1].done - points[0].done, points[-1].at - points[0].at
    if not (steps > 0 and seconds > 0):
        return Way(found)
    return Way(found, steps / total, seconds * (total / steps))


def ground(points: Sequence[Point], total: float | None, unit: str, *, paused: bool = False) -> Ground:
    """What lies within the next stride of this counter; unknown without a total or with a counter that has hardly
    moved. Early in a run every place is near, unless a pause was seen, which tells sooner what the job does."""
    if total is None or not math.isfinite(total) or total <= 0 or len(points) <= COUNTED:
        return Ground.UNKNOWN
    first, done = points[0].done, points[-1].done
    moves = [b.done - a.done for a, b in pairwise(points[-STRIDE - 1 :]) if b.done > a.done]
    stride = sorted(moves)[len(moves) // 4] if moves else math.inf
    if not math.isfinite(stride) or not math.isfinite(first):
        return Ground.UNKNOWN
    slack = _NEAR * total
    near, far = done - slack, done + WIDE * stride + slack
    if far >= total or (not paused and done - first < GONE * total):
        return Ground.PLACE
    return _between(first, near, far, total, unit, stride)


def _between(first: float, near: float, far: float, total: float, unit: str, stride: float) -> Ground:
    """An epoch is a whole number of steps, and some totals count one more or less."""
    if unit == EPOCHS and stride < 1:
        return Ground.PLACE if _next_multiple(1.0, near) <= far else Ground.OPEN
    most = int(min(MOST_PARTS, max(*LATE_PARTS, max(EVERY) * (total / max(near - first, stride) + 1))))
    whole = [part for part in range(2, most + 1) if unit == SHARE or total % 1 or total % part == 0]
    nearly = [part for part in range(2, most + 1) if (total + 1) % part <= 2]
    periods = [every * total / part for part in whole for every in EVERY] + [total / part for part in nearly]
    if any(near <= _first_multiple(period, first) <= far for period in periods + _round(stride, far)):
        return Ground.PLACE
    late = any(_next_multiple(total / part, near) <= far for part in whole if part in LATE_PARTS)
    return Ground.LATE if late else Ground.OPEN


def _round(stride: float, most: float) -> list[float]:
    """Round numbers from the stride up."""
    low, high = math.floor(math.log10(stride)), math.floor(math.log10(most))
    if high - low > 12:
        return []
    tens = [leading * 10.0**power for power in range(low, high + 1) for leading in ROUND]
    return [period for period in tens if stride <= period <= most]


def _next_multiple(period: float, at: float) -> float:
    return math.ceil(at / period) * period


def _first_multiple(period: float, after: float) -> float:
    """The first one that the job has come to since it was seen to begin; later ones are no longer news."""
    return (math.floor(after / period) + 1) * period
