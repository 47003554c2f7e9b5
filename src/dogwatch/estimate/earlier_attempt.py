"""What an earlier attempt of the same job tells of this one: the way it went, at the pace of today."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dogwatch.estimate.eta_interval import Uncertainty
from dogwatch.estimate.gap_history import Gap, GapHistory
from dogwatch.model import Point

# How far, as a logarithm, two attempts' paces are apart at most, and how much the earlier one then counts.
TRUST = ((0.1, 0.95), (0.25, 0.85), (math.inf, 0.5))
REPEATS = 0.03  # how far, as a logarithm, the same way differs from attempt to attempt
COMPARED = 24  # newest gaps over which paces are compared


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """The counter of an earlier attempt over its own seconds; neither ever falls."""

    counts: tuple[float, ...]
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, points: Sequence[Point]) -> EarlierAttempt | None:
        """None where there is too little to go by."""
        kept: list[Point] = []
        for point in points:
            if not (math.isfinite(point.at) and math.isfinite(point.done)):
                continue
            if not kept or (point.done > kept[-1].done and point.at > kept[-1].at):
                kept.append(point)
        if len(kept) < 4:
            return None
        return cls(tuple(point.done for point in kept), tuple(point.at for point in kept))

    def took(self, start: float, end: float) -> float:
        """Seconds from one count to another, both within its way."""
        return self._at(end) - self._at(start)

    def _at(self, count: float) -> float:
        i = min(max(bisect_right(self.counts, count), 1), len(self.counts) - 1)
        c0, c1, t0, t1 = self.counts[i - 1], self.counts[i], self.seconds[i - 1], self.seconds[i]
        return t0 + (t1 - t0) * min(1.0, max(0.0, (count - c0) / (c1 - c0)))

    def correct(self, run: GapHistory, total: float, left: float, doubt: Uncertainty) -> tuple[float, Uncertainty]:
        """The outlook where the earlier attempt has been: its way from here, as much slower or quicker as this
        attempt was so far. Beyond that the outlook stays as it was."""
        known_end, ahead = min(total, self.counts[-1]), total - run.done
        if known_end <= run.done or run.done < self.counts[0]:
            return left, doubt
        ratio = self._ratio(run.gaps)
        known = (known_end - run.done) / ahead
        its, ours = (ratio or 1.0) * self.took(run.done, known_end), left * known
        if its <= 0 or ours <= 0:
            return left, doubt
        apart = abs(math.log(ratio)) if ratio is not None else 0.2
        trust = next(trust for most, trust in TRUST if apart <= most)
        again = math.exp(trust * math.log(its) + (1 - trust) * math.log(ours))
        sure = trust * known
        return again + left * (1 - known), replace(
            doubt,
            share=1 - (1 - doubt.share) * (1 - sure),
            spread=math.hypot(doubt.spread * (1 - sure), REPEATS * sure, (1 - trust) * known * math.log(its / ours)),
            unseen=doubt.unseen * (1 - sure),
        )

    def _ratio(self, gaps: Sequence[Gap]) -> float | None:
        """How many times longer this attempt took over the same counts; its start is left out, and so is theirs."""
        shared = [gap for gap in gaps[-COMPARED:] if self.counts[1] <= gap.start and gap.end <= self.counts[-1]]
        theirs = math.fsum(self.took(gap.start, gap.end) for gap in shared)
        ours = math.fsum(gap.seconds for gap in shared)
        return ours / theirs if theirs > 0 and ours > 0 else None

    def alone(self, done: float, total: float) -> float | None:
        """Seconds from a count that has not moved yet in this attempt; None where it has never been."""
        if not self.counts[0] <= done < total or self.counts[-1] <= done:
            return None
        known_end = min(total, self.counts[-1])
        took = self.took(done, known_end)
        return took * (total - done) / (known_end - done)
