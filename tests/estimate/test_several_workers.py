"""A job of several workers is done when the last of them is."""

from __future__ import annotations

import pytest

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.several_workers import Worker, last_of
from dogwatch.model import Eta, Point
from tests.estimate.traces import run, until


def sum_of(workers: list[Worker], now: float) -> Eta | None:
    """The estimate of the counters added up, as of a job that is one."""
    times = sorted({point.at for worker in workers for point in worker.points if point.at <= now})
    points = []
    for at in times:
        done = [max((p.done for p in worker.points if p.at <= at), default=0.0) for worker in workers]
        points.append(Point(at, sum(done)))
    return estimate(points, sum(worker.total for worker in workers), now)


def test_the_slowest_worker_decides():
    """Three at one pace and one at half of it, each with 600 steps: the job takes as long as the fourth."""
    slow = run(600, 2.0, every=5)
    past, now, truth = until(slow, 0.4)
    workers = [Worker([p for p in run(600, 1.0, every=5, seed=i) if p.at <= now], 600) for i in range(3)]
    workers.append(Worker(past, 600))
    whole = sum_of(workers, now)
    assert whole is not None
    assert whole.remaining < 0.7 * truth
    eta = last_of(whole, workers, now)
    assert eta is not None
    assert eta.remaining == pytest.approx(truth, rel=0.05)
    assert eta.low <= truth <= eta.high


def test_equal_workers_are_what_their_sum_is():
    """Within a few per cent, and never earlier."""
    runs = [run(600, 1.0, every=5, seed=i) for i in range(4)]
    _, now, truth = until(runs[0], 0.5)
    workers = [Worker([p for p in points if p.at <= now], 600) for points in runs]
    whole, eta = sum_of(workers, now), last_of(sum_of(workers, now), workers, now)
    assert whole is not None
    assert eta is not None
    assert whole.remaining <= eta.remaining <= 1.05 * truth


def test_one_worker_or_none_that_moved_leaves_the_sum():
    """There is nobody to wait for."""
    whole = Eta(100, 90, 120, 0.9)
    assert last_of(whole, [], 50) == whole
    assert last_of(whole, [Worker(run(100, 1.0), 1000)], 100) == whole
    assert last_of(whole, [Worker([Point(0, 0)], 10), Worker([], 10)], 50) == whole
    assert last_of(None, [Worker([Point(0, 0)], 10)], 50) is None


def test_a_worker_that_is_done_is_not_waited_for():
    """Its share is over; the others go on."""
    done, going = run(100, 1.0), run(1000, 1.0, every=5)
    past, now, truth = until(going, 0.5)
    eta = last_of(None, [Worker(done, 100), Worker(past, 1000)], now)
    assert eta is not None
    assert eta.remaining == pytest.approx(truth, rel=0.05)
