"""When a job will be done: near the truth where it can be known, None where it cannot, never nonsense."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.series import add
from dogwatch.model import Eta, Point

NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-5, 2000).map(float), st.floats(0, 1e4))


def steady(until: int, pace: float = 2.0) -> list[Point]:
    return [Point(1000 + pace * i, float(i)) for i in range(until + 1)]


def test_a_steady_job_is_foretold_closely():
    """A third of the way, at an even pace, the estimate is right and the interval holds it."""
    eta = estimate(steady(333), 1000, 1000 + 666)
    assert eta is not None
    assert eta.remaining == pytest.approx(2 * 667, rel=0.02)
    assert eta.low <= 2 * 667 <= eta.high
    assert eta.confidence == 0.9


def test_a_slow_start_does_not_count_against_the_run():
    """Ten minutes of loading before an even pace hardly move the estimate."""
    points = [Point(400.0, 0.0), *steady(300)[1:]]
    eta = estimate(points, 1000, points[-1].at)
    assert eta is not None
    assert eta.remaining == pytest.approx(1400, rel=0.1)


def test_an_uneven_job_has_a_wider_interval():
    """Regular pauses are seen in the run's own past and widen the answer."""
    at, points = 0.0, []
    for i in range(200):
        at += 120.0 if i % 40 == 39 else 1.0
        points.append(Point(at, float(i)))
    uneven, even = estimate(points, 1000, at), estimate(steady(199), 1000, 1000 + 2 * 199)
    assert uneven is not None
    assert even is not None
    assert (uneven.high - uneven.low) / uneven.remaining > (even.high - even.low) / even.remaining


def test_few_points_give_a_wide_answer_with_little_confidence():
    """Three points are enough to speak, not to be sure."""
    eta = estimate(steady(2), 1000, 1004)
    assert eta is not None
    assert eta.confidence == 0.5
    assert eta.high > 1.5 * eta.remaining


@pytest.mark.parametrize("total", [None, 0.0, -3.0, math.nan, math.inf])
def test_without_a_total_there_is_no_eta(total):
    """No total, none above zero, or one that is no number: unknown."""
    assert estimate(steady(50), total, 2000) is None


def test_too_little_to_go_on_is_unknown():
    """No points, two points, or a counter that stands still: None, not a guess."""
    assert estimate([], 10, 5) is None
    assert estimate(steady(1), 10, 1010) is None
    assert estimate([Point(t, 5.0) for t in range(50)], 10, 50) is None


def test_a_job_that_has_done_all_needs_no_more_time():
    """At or beyond the total nothing is left."""
    assert estimate(steady(50), 50, 2000) == Eta(0, 0, 0, 1.0)
    assert estimate(steady(50), 40, 2000) == Eta(0, 0, 0, 1.0)


def test_silence_does_not_bring_the_end_nearer():
    """An hour without a step keeps the estimate and stretches the interval upwards."""
    points = steady(300)
    before, after = estimate(points, 1000, points[-1].at), estimate(points, 1000, points[-1].at + 3600)
    assert before is not None
    assert after is not None
    assert after.remaining == pytest.approx(before.remaining, rel=0.01)
    assert after.high >= before.high + 3000


@settings(max_examples=300)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30), NUMBERS, NUMBERS, st.booleans())
def test_an_eta_is_never_negative_or_not_a_number(pairs, total, now, ordered):
    """Whatever the history, the answer is None or 0 <= low <= remaining <= high < infinity."""
    points: tuple[Point, ...] = tuple(Point(*pair) for pair in pairs)
    if ordered:
        points = ()
        for pair in sorted(pairs, key=lambda p: (not math.isnan(p[0]), p[0])):
            points = add(points, Point(*pair))
    eta = estimate(points, total, now)
    if eta is not None:
        assert 0 <= eta.low <= eta.remaining <= eta.high < math.inf
        assert 0 <= eta.confidence <= 1
