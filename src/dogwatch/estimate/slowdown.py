"""Whether a job has become slow for good, and which of several equal workers is behind; with the moment it began.

Throughput is only ever compared over stretches of the same length, and has to be worse than the worst earlier
one: a validation or a checkpoint, which came before and passed, is therefore never a slow-down.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from dogwatch.model import Point

SLOW = 0.8  # of the peak: the fifth that is worth a word
UNSEEN = 0.93  # of the slowest earlier stretch of that length: less than it has ever been
LEAST_MOVES = 8
# How long a slow-down must last before it is one: a great loss shows soon and in few moves, a small one has to last,
# and the longer the run, the longer.
SHARP, SHARP_MOVES = 0.5, 4  # the loss from which on few moves are enough
LASTS_LOST = 150.0  # seconds, as if all had been lost; half as much lost has to last twice as long
LEAST_LASTS = 180.0
LEAST_SHARE = 0.1  # of the run so far, for a loss of a fifth
PEAK = 0.9  # of the earlier stretches are slower than the peak: one burst is none
LEAST_EARLIER = 60.0  # seconds at the earlier pace: less may be a burst over what was done before
SURE, EVEN = 5.0, 0.05  # standard errors, of gaps that vary by so much at least: a job that is uneven by nature
BACK = 0.87  # of the peak: from here on it has recovered
LEAST_SECONDS = 120.0
NO_PHASE = 0.9
PAUSES = 2  # the longest gaps that may not be what makes it slow
EQUAL = 0.1  # how far apart equal workers are
LEAST_WORKERS = 3
BLOCKS = 24


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Since when (on the points' clock), from and to how many units a second."""

    since: float
    from_rate: float
    to_rate: float


@dataclass(frozen=True, slots=True)
class Straggler:
    """The worker that is behind, since when, its units a second and those of its equals."""

    worker: Any
    since: float
    rate: float
    others: float


class _Curve:
    """The counter over time, at the moments it moved."""

    def __init__(self, points: Sequence[Point], now: float) -> None:
        self.times: list[float] = []
        self.counts: list[float] = []
        for at, done in points:
            if not (math.isfinite(at) and math.isfinite(done)) or at > now:
                continue
            while self.counts and done < self.counts[-1]:  # it resumed from there
                self.times.pop()
                self.counts.pop()
            if self.times and at <= self.times[-1]:
                self.counts[-1] = max(done, self.counts[-1])  # written in one go
            elif not self.times or done > self.counts[-1]:
                self.times.append(at)
                self.counts.append(done)

    def __len__(self) -> int:
        return len(self.times)

    def at(self, moment: float) -> float:
        """The count at a moment, on a straight line between the points round it."""
        i = min(max(bisect_right(self.times, moment), 1), len(self.times) - 1)
        t0, t1, c0, c1 = self.times[i - 1], self.times[i], self.counts[i - 1], self.counts[i]
        return c0 + (c1 - c0) * min(1.0, max(0.0, (moment - t0) / (t1 - t0)))

    def rate(self, start: float, end: float) -> float:
        return (self.at(end) - self.at(start)) / (end - start) if end > start else 0.0

    def since(self, moment: float) -> int:
        """The number of the first point that is not before this moment."""
        return bisect_left(self.times, moment)

    def rate_without_pauses(self, first: int) -> float:
        """From point `first` on, without the longest gaps; the gaps that are left have made the way."""
        gaps = sorted(pairwise(zip(self.times[first:], self.counts[first:], strict=True)), key=_seconds)
        kept = gaps[: len(gaps) - PAUSES]
        seconds = math.fsum(_seconds(gap) for gap in kept)
        return math.fsum(b[1] - a[1] for a, b in kept) / seconds if seconds > 0 else math.inf

    def quick(self, first: int, last: int) -> float:
        """Units a second in the quickest quarter of the gaps between two points: those without a pause."""
        rates = sorted(
            (c1 - c0) / (t1 - t0)
            for (t0, t1), (c0, c1) in zip(
                pairwise(self.times[first : last + 1]), pairwise(self.counts[first : last + 1]), strict=True
            )
        )
        return rates[len(rates) * 3 // 4]

    def unevenness(self, first: int, last: int) -> float:
        """How far the pace of one gap is from the usual one, as a logarithm; pauses do not count, being few."""
        paces = [
            math.log((t1 - t0) / (c1 - c0))
            for (t0, t1), (c0, c1) in zip(
                pairwise(self.times[first : last + 1]), pairwise(self.counts[first : last + 1]), strict=True
            )
        ]
        middle = median(paces)
        return max(EVEN, 1.48 * median(abs(pace - middle) for pace in paces))


def _seconds(gap: tuple[tuple[float, float], tuple[float, float]]) -> float:
    return gap[1][0] - gap[0][0]


def slowdown(points: Sequence[Point], now: float) -> Slowdown | None:
    """A throughput a fifth below its peak, which lasts until the newest point and never was so low for so long
    before; None if there is none, or too little to tell."""
    curve = _Curve(points, now)
    start = _started(curve)
    while len(curve) - start > 2 * SHARP_MOVES:
        knee = _knee(curve, start)
        if knee is None or len(curve) - knee <= SHARP_MOVES:
            return None
        found = _judge(curve, _started(curve), knee)
        if found is not None:
            return found
        start = knee
    return None


def has_recovered(points: Sequence[Point], now: float, slow: Slowdown) -> bool:
    """Whether a job that was slow is again about as quick as before, for as long as it takes to tell."""
    curve = _Curve(points, now)
    if len(curve) <= SHARP_MOVES:
        return True  # it began anew
    end = curve.times[-1]
    start = min(end - LEAST_SECONDS, curve.times[-1 - SHARP_MOVES])
    return start >= slow.since and curve.rate(start, end) >= BACK * slow.from_rate


def _started(curve: _Curve) -> int:
    """The first point after the start: loading, compiling and warming up are no measure of a peak or a low."""
    if len(curve) < 4:
        return 0
    paces = [(t1 - t0) / (c1 - c0) for t0, t1, c0, c1 in _steps(curve)]
    usual = 1.5 * median(paces)
    return next((i for i in range(1, max(2, len(paces) // 10)) if paces[i] <= usual), 1)


def _steps(curve: _Curve) -> list[tuple[float, float, float, float]]:
    return [(*t, *c) for t, c in zip(pairwise(curve.times), pairwise(curve.counts), strict=True)]


def _knee(curve: _Curve, start: int) -> int | None:
    """The point where the counter is furthest ahead of the straight line from `start` to its end."""
    t0, c0 = curve.times[start], curve.counts[start]
    slope = (curve.counts[-1] - c0) / (curve.times[-1] - t0)
    ahead = [curve.counts[i] - c0 - slope * (curve.times[i] - t0) for i in range(start, len(curve))]
    knee = start + max(range(len(ahead)), key=ahead.__getitem__)
    return knee if start < knee < len(curve) - 1 else None


def _judge(curve: _Curve, start: int, knee: int) -> Slowdown | None:
    begin, turned_at, end = curve.times[start], curve.times[knee], curve.times[-1]
    lasted = end - turned_at
    if lasted < LEAST_LASTS or turned_at - begin < LEAST_EARLIER:
        return None
    width = min(lasted, (turned_at - begin) / 2)
    shift = max(width / 4, (turned_at - begin) / 400)
    starts = [begin + i * shift for i in range(int((turned_at - width - begin) / shift) + 1)]
    earlier = sorted(curve.rate(at, at + width) for at in starts)
    peak, worst = earlier[int(PEAK * (len(earlier) - 1))], earlier[0]
    recent = max(width if width < lasted else 0.0, lasted / 2)
    rates = curve.rate(turned_at, end), curve.rate(end - recent, end), curve.rate_without_pauses(knee)
    if not 0 < max(rates) <= SLOW * peak or max(rates[:2]) > UNSEEN * worst:
        return None
    lost = 1 - max(rates) / peak
    if lasted < max(LASTS_LOST / lost, LEAST_SHARE * (1 - SLOW) / lost * (end - begin)):
        return None
    if lost >= SHARP:
        moves, enough = knee - start, SHARP_MOVES
    else:
        moves, enough = min(curve.since(begin + width) - start, len(curve) - 1 - knee), LEAST_MOVES
    usual = earlier[len(earlier) // 2]
    if math.log(usual / max(rates)) < SURE * curve.unevenness(start, knee) / math.sqrt(len(curve) - 1 - knee):
        return None
    if moves < enough or curve.quick(knee, len(curve) - 1) > NO_PHASE * curve.quick(start, knee):
        return None  # too little to tell, or as quick as ever between pauses that are new
    return Slowdown(turned_at, peak, rates[0])


def straggler(workers: Mapping[Any, Sequence[Point]], now: float) -> Straggler | None:
    """The worker that is a fifth slower than its equals and has lasted so; the slowest if there are several.
    Equals are at least three workers of which the others keep the same pace; one that stands is no straggler."""
    told = {worker: points for worker, points in workers.items() if len(points) > LEAST_MOVES}
    curves = {worker: _Curve(points, now) for worker, points in told.items()}
    curves = {worker: curve for worker, curve in curves.items() if len(curve) > LEAST_MOVES}
    if len(curves) < LEAST_WORKERS:
        return None
    begin = max(curve.times[_started(curve)] for curve in curves.values())
    end = min(curve.times[-1] for curve in curves.values())
    if end - begin < 2 * LEAST_SECONDS or end < begin + 0.5 * (now - begin):
        return None
    edges = [begin + (end - begin) * i / BLOCKS for i in range(BLOCKS + 1)]
    recent = edges[BLOCKS * 3 // 4]
    rates = {worker: curve.rate(recent, end) for worker, curve in curves.items()}
    behind = min(rates, key=rates.__getitem__)
    others = [rate for worker, rate in rates.items() if worker != behind]
    usual = median(others)
    alike = sum(abs(rate - usual) <= EQUAL * usual for rate in others)
    if not 0 < rates[behind] <= SLOW * usual or alike < max(2, len(others) / 2):
        return None
    if curves[behind].rate_without_pauses(curves[behind].since(recent)) > SLOW * usual:
        return None
    return Straggler(behind, _since(curves, behind, edges), rates[behind], usual)


def _since(curves: Mapping[Any, _Curve], behind: Any, edges: Sequence[float]) -> float:
    """The start of the stretch, up to now, in which it was slower than the others all the time."""
    since = edges[-1]
    for start, end in reversed(list(pairwise(edges))):
        usual = median(curve.rate(start, end) for worker, curve in curves.items() if worker != behind)
        if curves[behind].rate(start, end) > (1 + SLOW) / 2 * usual:
            break
        since = start
    return since if since > edges[0] else curves[behind].times[0]
