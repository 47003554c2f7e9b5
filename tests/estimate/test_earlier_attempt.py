"""An earlier attempt of the same job tells what this one has not shown yet."""

from __future__ import annotations

import pytest

from dogwatch.estimate.eta import estimate
from dogwatch.model import Point
from tests.estimate.traces import run, until


def curriculum(step: int) -> float:
    """Longer sequences from step 1000 on: twice the pace."""
    return 1.0 if step < 1000 else 2.0


def test_what_is_still_to_come_is_known_from_the_earlier_attempt():
    """A slower second half and validations are foretold at a tenth of the run, which could not know of them."""
    past, now, truth = until(run(2000, curriculum, every=10, pauses=[(500, 200)], seed=2), 0.1)
    earlier = run(2000, curriculum, every=10, pauses=[(500, 200)], seed=3)
    alone, helped = estimate(past, 2000, now), estimate(past, 2000, now, earlier)
    assert alone is not None
    assert helped is not None
    assert alone.remaining < 0.8 * truth
    assert helped.remaining == pytest.approx(truth, rel=0.12)
    assert helped.low <= truth <= helped.high
    assert (helped.high - helped.low) / helped.remaining < (alone.high - alone.low) / alone.remaining


def test_the_way_is_the_earlier_ones_and_the_speed_is_todays():
    """On a machine that is 20 % slower the whole way is 20 % slower."""
    past, now, truth = until(run(2000, lambda step: 1.2 * curriculum(step), every=10), 0.2)
    eta = estimate(past, 2000, now, run(2000, curriculum, every=10))
    assert eta is not None
    assert eta.remaining == pytest.approx(truth, rel=0.12)


def test_an_attempt_that_has_not_counted_yet_is_foretold_by_the_earlier_one():
    """One point, no movement: the way that the earlier attempt took, with little confidence."""
    earlier = run(1000, 1.0, every=10)
    eta = estimate([Point(50.0, 0.0)], 1000, 50.0, earlier)
    assert eta is not None
    assert eta.remaining == pytest.approx(1000, rel=0.05)
    assert eta.confidence < 0.9
    assert estimate([Point(50.0, 0.0)], 1000, 50.0) is None


def test_an_attempt_that_died_early_helps_as_far_as_it_came():
    """Beyond where it died, the run's own past speaks."""
    past, now, _ = until(run(2000, curriculum, every=10), 0.3)
    short = run(2000, curriculum, every=10)[:40]
    alone, helped = estimate(past, 2000, now), estimate(past, 2000, now, short)
    assert alone == helped


def test_another_kind_of_counter_is_no_earlier_attempt():
    """A history that does not lie on this run's way changes nothing."""
    past, now, _ = until(run(2000, 1.0, every=10), 0.3)
    for strange in (
        [],
        [Point(0, 0)],
        [Point(i, 5000.0 + i) for i in range(50)],
        [Point(0.0, float(i)) for i in range(50)],
    ):
        assert estimate(past, 2000, now, strange) == estimate(past, 2000, now)
