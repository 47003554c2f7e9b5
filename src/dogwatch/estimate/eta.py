"""When a job will be done, as an interval, from its own history and, if there was one, an earlier attempt's.

The time to go is the pace that holds now times the steps ahead, the pauses that are still to come, and what is
left of the present pause. How far off that may be is in `eta_interval.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from dogwatch.estimate.earlier_attempt import EarlierAttempt
from dogwatch.estimate.eta_interval import Uncertainty, interval
from dogwatch.estimate.gap_history import Gap, GapHistory, gap_history
from dogwatch.estimate.pace import pace
from dogwatch.estimate.pauses import Pauses, find
from dogwatch.model import Eta, Point

CONFIDENCE = 0.9
LESS_SURE = 0.75  # after a single gap: it held the start as well, or only a part of a step
TOO_FAR = 1e9  # seconds; beyond thirty years nothing is an estimate
ALIKE = 0.25  # of the longest chance pause: those of its kind
# Early in a run that has not paused yet, what it has not shown (a validation, a slower stretch) costs 5 % in the middle
# of all runs, nothing in a quarter and more than a tenth in another. So much more, as a logarithm, keeps those that go
# on as they began and those that add a sixth within a tenth.
UNSEEN, UNSEEN_FULL, UNSEEN_UNTIL = 0.065, 0.12, 0.4
FEW = 5  # gaps, in which no pause can be told by itself
STARTS = 1.1  # times the pace of the others: it also loads
# Silence, not a count that is told to stand still, of so many times the longest gap and of such a share of the time so
# far and to go is no pause any more: either nothing goes on, or nobody tells of it. A quarter more, and the second is
# what is foretold, until it should have ended; the interval holds both.
HOLE_GAPS, HOLE_SHARE, HOLE_SURE = 4.0, 0.2, 0.25


@dataclass(frozen=True, slots=True)
class Outlook:
    """What lies ahead of a run: seconds in all from its newest count, and how uncertain they are."""

    left: float
    spent: float
    doubt: Uncertainty
    untold: float = 0.0  # seconds, where it may have gone on without telling: what would be left then
    hole: float = 0.0  # from 0 to 1: how much that counts

    @property
    def remaining(self) -> float:
        return max(0.0, (1 - self.hole) * (self.left - self.spent) + self.hole * self.untold)

    @property
    def interval(self) -> tuple[float, float]:
        """It may be later by a share of all that was left at the newest count, as the time since tells nothing of its
        pace. Where it may have gone on, and may not: from the soonest of the one to the latest of the other."""
        low, high = interval(self.remaining, self.doubt)[0], interval(self.left, self.doubt)[1]
        if self.hole:
            return min(low, interval(self.untold, self.doubt)[0]), high
        return low, max(0.0, high - self.spent)


def estimate(points: Sequence[Point], total: float | None, now: float, earlier: Sequence[Point] = ()) -> Eta | None:
    """Seconds still to go, or None rather than nonsense: no total, a counter that has not moved, no end in sight.
    `earlier` are the points of the same job's earlier attempt, on a clock of its own."""
    try:
        return _estimate(points, total, now, earlier)
    except (ArithmeticError, ValueError):  # of counts such as 1e-300, which a log can print and no job can do
        return None


def _estimate(points: Sequence[Point], total: float | None, now: float, earlier: Sequence[Point]) -> Eta | None:
    if total is None or not (math.isfinite(total) and math.isfinite(now)) or total <= 0 or not points:
        return None
    newest = next((point for point in reversed(points) if point.at <= now), None)
    if newest is not None and newest.done >= total:
        return Eta(0.0, 0.0, 0.0, 1.0)
    before = EarlierAttempt.of(earlier)
    run = gap_history(points, now)
    outlook = _unmoved(newest, total, now, before) if run is None else _moved(run, total, now, before)
    if outlook is None:
        return None
    remaining, (low, high) = outlook.remaining, outlook.interval
    if not all(math.isfinite(value) and value <= TOO_FAR for value in (remaining, low, high)):
        return None
    return Eta(remaining, low, high, CONFIDENCE if outlook.doubt.gaps > 1 else LESS_SURE)


def _unmoved(newest: Point | None, total: float, now: float, earlier: EarlierAttempt | None) -> Outlook | None:
    """Of an attempt that has not counted yet, only an earlier one can tell."""
    left = earlier.alone(newest.done, total) if earlier is not None and newest is not None else None
    if left is None or newest is None:
        return None
    return Outlook(left, max(0.0, min(now - newest.at, left / 2)), Uncertainty(0.0, 1, 0.0))


def _moved(run: GapHistory, total: float, now: float, earlier: EarlierAttempt | None) -> Outlook | None:
    ahead = total - run.first
    if not (run.done < total and math.isfinite(ahead) and math.isfinite(ahead * _average(run.gaps))):
        return None
    return foretell(run, total, now, earlier)


def foretell(run: GapHistory, total: float, now: float, earlier: EarlierAttempt | None = None) -> Outlook | None:
    """The outlook of a run that has moved and has not reached its total; None where it should have ended, and nobody
    told."""
    ahead = total - run.done
    usual = median(gap.seconds for gap in run.gaps[-15:])
    silence = max(0.0, now - run.at)
    pauses = find(run, silence - usual)
    seconds = [gap.seconds - beyond for gap, beyond in zip(run.gaps, pauses.beyond, strict=True)]
    steps = [gap.steps for gap in run.gaps]
    way = math.fsum(steps)
    tempo = pace(steps, seconds, ahead)
    if 1 < len(run.gaps) <= FEW:
        tempo = replace(tempo, value=_of_few(run))
    share = way / (way + ahead)
    cost, doubt_of_pauses, due = _to_come(run, pauses, total)
    unseen = _unseen(run, share) if not pauses.cycles else 0.0
    left = (ahead * tempo.value + cost) * math.exp(unseen) + pauses.going
    spread = math.hypot(tempo.spread, math.log1p(doubt_of_pauses / left) if left > 0 else 0.0)
    doubt = Uncertainty(share, len(run.gaps), spread, unseen)
    if earlier is not None:
        left, doubt = earlier.correct(run, total, left, doubt)
    base = left - pauses.going
    hole, untold = _hole(run, base, now - run.heard - usual), base - silence
    if hole >= 1 and untold <= 0:
        return None
    return Outlook(left, min(silence, usual + due), doubt, untold, hole if untold > 0 else 0.0)


def _of_few(run: GapHistory) -> float:
    """Seconds per step by a few gaps: their average, as what one of them holds will come again; but for the first of
    them, where it still belongs to the start."""
    first, *later = run.gaps
    return _average(later if first.seconds > STARTS * _average(later) * first.steps else run.gaps)


def _average(gaps: Sequence[Gap]) -> float:
    return math.fsum(gap.seconds for gap in gaps) / math.fsum(gap.steps for gap in gaps)


def _unseen(run: GapHistory, share: float) -> float:
    """What a run may still do that it has not shown, as a logarithm; nothing of one that is told one by one (epochs,
    files, rounds), as what comes with each of them has been seen."""
    if len(run.gaps) < 3 or min(gap.steps for gap in run.gaps) <= 1:
        return 0.0
    return UNSEEN * min(1.0, max(0.0, (UNSEEN_UNTIL - share) / (UNSEEN_UNTIL - UNSEEN_FULL)))


def _hole(run: GapHistory, left: float, silence: float) -> float:
    """How far a silence is beyond what a pause can be: 0 for all of them, 1 for a quarter more than any."""
    whole = max(left, run.at - run.gaps[0].began)
    most = max(HOLE_GAPS * max(gap.seconds for gap in run.gaps), HOLE_SHARE * whole)
    return min(1.0, max(0.0, (silence / most - 1) / HOLE_SURE)) if most > 0 else 0.0


def _to_come(run: GapHistory, pauses: Pauses, total: float) -> tuple[float, float, float]:
    """(seconds of the pauses after this one, the spread of all, seconds of the one that is due now or going on)."""
    usual = median(gap.steps for gap in run.gaps[-15:])
    cost, variance, due = 0.0, (pauses.going / 2) ** 2, pauses.going
    for cycle in pauses.cycles:
        ahead = cycle.ahead(run.done, total)
        count = len(ahead)
        cost += count * cycle.seconds
        may = max(count, 1) if cycle.seen == 1 else count  # what came once may come once more, whenever it is due
        variance += may * cycle.spread**2 + (count * cycle.spread) ** 2 / cycle.seen
        if ahead and ahead[0] - cycle.wide / 2 <= run.done + 1.5 * usual:
            due = max(due, cycle.seconds)
    if pauses.chance:
        part = (total - run.done) / pauses.way
        cost += part * _again(pauses.chance)
        # One is no rate here either: it may come once more.
        rate = part * (1 + part) * (1 - 1 / len(pauses.chance))
        variance += (
            rate * math.fsum(seconds * seconds for seconds in pauses.chance) + min(1.0, part) * max(pauses.chance) ** 2
        )
    return cost, math.sqrt(variance), due


def _again(chance: Sequence[float]) -> float:
    """Seconds that chance pauses cost over as long a way again: kind by kind, one of each less, as one is no rate."""
    cost, rest = 0.0, sorted(chance, reverse=True)
    while rest:
        kind = [seconds for seconds in rest if seconds > ALIKE * rest[0]]
        cost += math.fsum(kind) * (len(kind) - 1) / len(kind)
        rest = rest[len(kind) :]
    return cost
