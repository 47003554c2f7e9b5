"""When a job will be done, as an interval, from its own history alone.

Several ways to read a rate (overall, without the start, recent) are tried on the run's own past; those
that would have foretold it best weigh most, and how far they missed gives the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from dogwatch.model import Eta, Point

CONFIDENCE = 0.9
TOO_FAR = 1e9  # seconds; beyond thirty years nothing is an estimate
_CUTS = (0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85)
_LEAST_SPREAD = 0.03
_UNTESTED_SPREAD = 0.7
_UNSEEN_SPREAD = 0.4  # what a run may still do that its first part did not show

Pace = Callable[[Sequence[Point]], float | None]  # seconds per unit


def estimate(points: Sequence[Point], total: float | None, now: float) -> Eta | None:
    """Seconds still to go, or None rather than nonsense: no total, fewer than three points, no movement."""
    if total is None or not math.isfinite(total) or total <= 0 or not math.isfinite(now) or not points:
        return None
    if points[-1].done >= total:
        return Eta(0.0, 0.0, 0.0, 1.0)
    moves = _moves(points, now)
    if len(moves) < 3:
        return None
    misses = {name: _misses(moves, pace) for name, pace in _PACES.items()}
    pace = _blend(moves, misses)
    if pace is None:
        return None
    left = (total - moves[-1].done) * pace
    usual = (moves[-1].done - moves[-2].done) * pace
    remaining = max(0.0, left - min(max(0.0, now - moves[-1].at), usual))
    low, high, confidence = _interval(left, moves, misses, total)
    spent = left - remaining
    low, high = max(0.0, min(low - spent, remaining)), max(high - spent, remaining)
    silent = max(0.0, now - moves[-1].at - usual)  # a pause may go on as long as it has lasted
    high += silent
    if not all(math.isfinite(value) and value <= TOO_FAR for value in (remaining, high)):
        return None
    return Eta(remaining, low, high, confidence)


def _moves(points: Sequence[Point], now: float) -> list[Point]:
    """The points at which the counter stood higher than before, in the order of time."""
    kept: list[Point] = []
    for point in points:
        if not (math.isfinite(point.at) and math.isfinite(point.done)) or point.at > now:
            continue
        if not kept or (point.at > kept[-1].at and point.done > kept[-1].done):
            kept.append(point)
    return kept


def _overall(points: Sequence[Point]) -> float | None:
    return _pace(points[0], points[-1])


def _started(points: Sequence[Point]) -> float | None:
    """Without the first interval, in which a job also loads, compiles and warms up."""
    return _pace(points[1], points[-1]) if len(points) > 2 else None


def _since(share: float) -> Pace:
    """Over the last `share` of the time so far."""

    def recent(points: Sequence[Point]) -> float | None:
        start = points[-1].at - share * (points[-1].at - points[0].at)
        first = next((p for p in reversed(points[:-1]) if p.at <= start), points[0])
        return _pace(first, points[-1])

    return recent


def _typical(points: Sequence[Point]) -> float | None:
    """The middle of the paces between points: blind to pauses."""
    paces = sorted((b.at - a.at) / (b.done - a.done) for a, b in pairwise(points))
    return paces[len(paces) // 2] if paces else None


def _pace(first: Point, last: Point) -> float | None:
    return (last.at - first.at) / (last.done - first.done) if last.done > first.done else None


_PACES: dict[str, Pace] = {
    "overall": _overall,
    "started": _started,
    "half": _since(0.5),
    "fifth": _since(0.2),
    "typical": _typical,
}


def _misses(moves: Sequence[Point], pace: Pace) -> list[float]:
    """log(true / foretold) of the time from earlier moments of this run until now."""
    found = []
    for cut in _CUTS:
        mark = moves[0].at + cut * (moves[-1].at - moves[0].at)
        past = [p for p in moves if p.at <= mark]
        if len(past) < 3 or past[-1].done >= moves[-1].done:
            continue
        foretold = (pace(past) or 0.0) * (moves[-1].done - past[-1].done)
        if foretold > 0:
            found.append(math.log((moves[-1].at - past[-1].at) / foretold))
    return found


def _blend(moves: Sequence[Point], misses: dict[str, list[float]]) -> float | None:
    """The paces' geometric mean, each by how well it would have done so far."""
    sums = weights = 0.0
    for name, pace in _PACES.items():
        value = pace(moves)
        if not value or not math.isfinite(value) or value <= 0:
            continue
        missed = misses[name]
        error = sum(abs(m) for m in missed) / len(missed) if missed else 0.3
        weight = 1.0 / (0.02 + error) ** 2
        sums, weights = sums + weight * math.log(value), weights + weight
    mean = sums / weights if weights else -math.inf
    return math.exp(mean) if -600 < mean < 600 else None


def _interval(
    left: float, moves: Sequence[Point], misses: dict[str, list[float]], total: float
) -> tuple[float, float, float]:
    """(low, high, confidence) round the time left: as wide as the best paces missed, wider early on."""
    tested = sorted(misses.values(), key=lambda m: sum(map(abs, m)) / len(m) if m else math.inf)[:3]
    seen = sorted(abs(miss) for missed in tested for miss in missed)
    if len(seen) < 6:
        return left * math.exp(-_UNTESTED_SPREAD), left * math.exp(_UNTESTED_SPREAD), 0.5
    done = (moves[-1].done - moves[0].done) / max(total - moves[0].done, 1e-300)
    ahead = 1.0 - min(1.0, max(0.0, done))
    missed = max(_LEAST_SPREAD, seen[int(0.9 * (len(seen) - 1))])
    spread = min(2.0, missed * (1.0 + 0.5 * ahead) + _UNSEEN_SPREAD * ahead**4)
    return left * math.exp(-spread), left * math.exp(spread), CONFIDENCE
