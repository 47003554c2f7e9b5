"""A series of (when, how far, of how much) as it was told, and when it will be done: the newest total counts, and
several workers who count in one series are told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.several_workers import Worker, last_of
from dogwatch.estimate.totals import expected
from dogwatch.model import Eta, Point

MIXED = 0.2  # of the rows, at least, that go back where several workers count in one series
RISING = 0.5  # of the times it goes back, to a higher count than the time before; laps of one counter begin alike
MOST_WORKERS = 64
TOGETHER = 0.5  # of the whole time that each of them is heard over; one that resumes again and again goes on alone


class Row(NamedTuple):
    """One line of a series: when, how far, of how much (None: not known then)."""

    at: float
    done: float
    total: float | None


def eta_of_rows(rows: Sequence[Row], now: float) -> Eta | None:
    """The estimate by the rows that had been written by `now`, which are in the order of time."""
    past = [row for row in rows if row.at <= now]
    workers = split_workers(past)
    if workers:
        return last_of(None, workers, now)
    return estimate(_points(past), expected([(row.done, row.total) for row in past]), now)


def split_workers(rows: Sequence[Row]) -> list[Worker]:
    """The workers who counted in one series, each by itself; none where it is a single counter."""
    lows = [b.done for a, b in pairwise(rows) if b.done < a.done]
    if len(lows) < max(2, MIXED * len(rows)) or sum(b > a for a, b in pairwise(lows)) < RISING * len(lows):
        return []
    chains: list[list[Row]] = []
    for row in rows:
        before = [chain for chain in chains if chain[-1].done <= row.done and chain[-1].total == row.total]
        if before:
            max(before, key=lambda chain: (chain[-1].done, -chain[-1].at)).append(row)
        elif len(chains) < MOST_WORKERS:
            chains.append([row])
        else:
            return []
    least = TOGETHER * (rows[-1].at - rows[0].at)
    if len(chains) < 2 or any(chain[-1].at - chain[0].at < least for chain in chains):
        return []
    return [Worker(_points(chain), chain[-1].total) for chain in chains if chain[-1].total is not None]


def _points(rows: Sequence[Row]) -> list[Point]:
    return [Point(row.at, row.done) for row in rows]
