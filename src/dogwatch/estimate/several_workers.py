"""Several workers with totals of their own: the job is done when the last of them is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.gap_history import gap_history
from dogwatch.model import Eta, Point

FULLY = 4  # workers, those furthest behind, whose end is estimated in full
LEAST_MOVES = 3


class Worker(NamedTuple):
    """One worker's history and its own total."""

    points: Sequence[Point]
    total: float


def last_of(whole: Eta | None, workers: Iterable[Worker], now: float) -> Eta | None:
    """The estimate of the job: that of its sum, unless a worker will need longer. The sum knows nothing of a worker
    that goes on alone after the others are done."""
    behind = sorted((_roughly(worker, now), i, worker) for i, worker in enumerate(workers))
    found = [estimate(worker.points, worker.total, now) for _, _, worker in behind[-FULLY:]]
    each = [eta for eta in found if eta is not None]
    if not each or len(behind) < 2:
        return whole
    slowest = max(each, key=lambda eta: eta.remaining)
    low, high = max(eta.low for eta in each), max(eta.high for eta in each)
    if whole is not None and whole.remaining >= slowest.remaining:
        return whole
    return Eta(slowest.remaining, min(low, slowest.remaining), high, slowest.confidence)


def _roughly(worker: Worker, now: float) -> float:
    """Seconds left by its average, to find the slowest; 0 of one that has moved too little to tell."""
    run = gap_history(worker.points, now)
    if run is None or len(run.gaps) < LEAST_MOVES:
        return 0.0
    first, last = run.gaps[0], run.gaps[-1]
    return (worker.total - run.done) * (last.ended - first.began) / (last.end - first.start)
