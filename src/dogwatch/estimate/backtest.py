"""Backtest: how good estimates would have been on runs that are over, asked again at moments of their lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from dogwatch.estimate.baselines import BASELINES
from dogwatch.estimate.progress_rows import Row, eta_of_rows
from dogwatch.model import Point

OURS = "dogwatch"
MOMENTS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)  # of a run's time
NEAR = 0.1  # of the true time left
FINISHED = 0.95  # of its total, at least, that a run must have reached to have a known end


@dataclass(slots=True)
class Score:
    """How one predictor did at one moment of many runs: its errors as shares of the truth, None where it was silent."""

    errors: list[float | None] = field(default_factory=list)

    @property
    def within(self) -> float | None:
        """The share of runs it foretold within a tenth; silence counts as a miss."""
        near = sum(error is not None and error <= NEAR for error in self.errors)
        return near / len(self.errors) if self.errors else None

    @property
    def p90(self) -> float | None:
        """The error that nine answers in ten do not exceed."""
        answered = sorted(error for error in self.errors if error is not None)
        return answered[min(len(answered) - 1, int(0.9 * len(answered)))] if answered else None

    @property
    def silent(self) -> int:
        return sum(error is None for error in self.errors)


@dataclass(slots=True)
class Moment:
    """All predictors at one share of the runs' time, and how our interval did."""

    share: float
    scores: dict[str, Score] = field(default_factory=dict)
    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float | None:
        return sum(self.held) / len(self.held) if self.held else None

    @property
    def width(self) -> float | None:
        """The middle width of the interval, as a share of the true time left."""
        return median(self.widths) if self.widths else None


def unfit(rows: Sequence[Row]) -> str | None:
    """Why a run cannot be replayed, in words; None when it can."""
    if len(rows) < 3:
        return "it has fewer than three rows"
    if any(b.at < a.at for a, b in pairwise(rows)):
        return "its times go back"
    if rows[-1].at <= rows[0].at:
        return "all of it happened in one moment"
    total = rows[-1].total
    if total is None or total <= 0:
        return "it has no total"
    if rows[-1].done < FINISHED * total:
        return f"it did not finish: {rows[-1].done:g} of {total:g}"
    return None


def backtest(runs: Iterable[Sequence[Row]], moments: Sequence[float] = MOMENTS) -> list[Moment]:
    """Every run at every moment at which its counter had moved, with what had been written by then."""
    found = [Moment(share, {name: Score() for name in (OURS, *BASELINES)}) for share in moments]
    for rows in runs:
        begin, end = rows[0].at, rows[-1].at
        for moment in found:
            now = begin + moment.share * (end - begin)
            past = [row for row in rows if row.at <= now]
            if len(past) > 1 and past[-1].done > past[0].done and past[-1].total:
                _ask(moment, past, now, end - now)
    return found


def _ask(moment: Moment, past: Sequence[Row], now: float, truth: float) -> None:
    points = [Point(row.at, row.done) for row in past]
    total = past[-1].total or 0.0
    for name, baseline in BASELINES.items():
        seconds = baseline(points, total, now)
        moment.scores[name].errors.append(None if seconds is None else abs(seconds - truth) / truth)
    eta = eta_of_rows(past, now)
    moment.scores[OURS].errors.append(None if eta is None else abs(eta.remaining - truth) / truth)
    if eta is not None:
        moment.held.append(eta.low <= truth <= eta.high)
        moment.widths.append((eta.high - eta.low) / truth)
