"""A job's history: bounded, honest about resumes and clocks; several workers as one counter."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.estimate.series import EARLIER, MOST, add, combine, keep_earlier, last_rate, rates
from dogwatch.model import Point, Step

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def history(*pairs: tuple[float, float]) -> tuple[Point, ...]:
    points: list[Point] = []
    for at, done in pairs:
        add(points, Point(at, done))
    return tuple(points)


def test_a_long_history_is_thinned_and_keeps_its_ends():
    """Ten thousand points become at most 256, with the first and the newest among them."""
    points = history(*((float(i), float(i)) for i in range(10_000)))
    assert len(points) <= MOST
    assert points[0] == Point(0, 0)
    assert points[-1] == Point(9999, 9999)
    assert list(points) == sorted(points, key=lambda p: p.at)


def test_a_counter_that_goes_back_is_a_resume():
    """What was counted beyond the point of resumption is dropped; what lies before stays."""
    assert history((0, 0), (10, 100), (20, 200), (50, 120)) == (Point(0, 0), Point(10, 100), Point(50, 120))


def test_pauses_and_changes_of_pace_survive_the_thinning():
    """Twenty pauses among five thousand steps are all still there, to within a few steps of where they were."""
    at, pairs = 0.0, []
    for step in range(5000):
        at += 1.0 + (300.0 if step % 250 == 249 else 0.0)
        pairs.append((at, float(step)))
    points = history(*pairs)
    long = [b.done for a, b in pairwise(points) if b.at - a.at > 290 and b.done - a.done < 10]
    assert long == [float(step) for step in range(249, 5000, 250)]


def test_what_an_attempt_had_come_to_is_kept_when_the_next_begins():
    """The course that came furthest stays, in few points; an attempt that goes on has no other before it."""
    first = history(*((float(i), float(i)) for i in range(900)))
    assert keep_earlier(first, (), Point(900, 900)) == ()
    kept = keep_earlier(first, (), Point(950, 0))
    assert len(kept) <= EARLIER
    assert (kept[0], kept[-1]) == (Point(0, 0), Point(899, 899))
    second = history(*((1000.0 + i, float(i)) for i in range(100)))
    assert keep_earlier(second, kept, Point(1200, 0)) == kept


def test_a_plateau_is_kept_by_its_two_ends():
    """A job that waits for an hour does not push its history out."""
    assert history((0, 0), (1, 5), (2, 5), (3, 5), (4, 5)) == (Point(0, 0), Point(1, 5), Point(4, 5))


def test_a_clock_that_goes_back_takes_the_history_along():
    """The rates from before stay what they were."""
    points = history((1000, 0), (1010, 10), (1020, 20), (500, 25))
    assert points == (Point(480, 0), Point(490, 10), Point(500, 25))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=40), NUMBERS)
def test_any_history_stays_in_order_and_its_rates_are_numbers(pairs, now):
    """Whatever numbers come, times and counts never fall and no rate is negative, infinite or nan."""
    points = history(*pairs)
    assert all(a.at <= b.at and a.done <= b.done for a, b in pairwise(points))
    for rate in (*rates(points, now), last_rate(points)):
        assert rate is None or (math.isfinite(rate) and rate >= 0)


def test_rates_now_and_on_average_differ_after_a_change():
    """Ten a second, then one a second: now says one, the average lies between."""
    fast = [(float(t), 10.0 * t) for t in range(100)]
    slow = [(100.0 + t, 1000.0 + t) for t in range(100)]
    now, average = rates(history(*fast, *slow), 199.0)
    assert now == pytest.approx(1.0, rel=0.05)
    assert average == pytest.approx(1099 / 199, rel=0.05)


@pytest.mark.parametrize(
    ("points", "rate"),
    [
        pytest.param([(t, 2.0 * t) for t in range(1000)] + [(5000, 1998.0)], 2.0, id="what came after it is no part"),
        pytest.param([(600 * n, float(n)) for n in range(11)], 1 / 600, id="seldom"),
        pytest.param([(t, 9000.0 + t) for t in range(99)] + [(99 + t, t / 2) for t in range(99)], 0.5, id="it fell"),
        pytest.param([(0.001 * n, float(n)) for n in range(40)], None, id="all at once"),
        pytest.param([(t, 4.0) for t in range(9)], None, id="it stood"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_the_last_rate_is_that_of_the_last_tenth_in_which_it_moved(points, rate):
    """A log that is read when all is over tells how fast it was, not that it is still."""
    assert last_rate([Point(float(at), done) for at, done in points]) == (rate and pytest.approx(rate))


def test_a_silent_job_slows_down():
    """An hour without a step is not full speed."""
    points = history(*((float(t), float(t)) for t in range(100)))
    now, _ = rates(points, 99.0)
    later, _ = rates(points, 3700.0)
    assert now == pytest.approx(1.0)
    assert later is not None
    assert later < 0.1


def test_no_movement_has_no_rate():
    """One point, or a counter that stands, gives none."""
    assert rates((), 5.0) == (None, None)
    assert rates(history((0, 5)), 5.0) == (None, None)
    assert rates(history((0, 5), (9, 5)), 9.0) == (None, None)


def test_workers_that_count_the_same_unit_are_summed():
    """Two workers with 3 of 10 and 5 of 10 items are at 8 of 20."""
    both = {0: Step(3, 10, "items", 1.0, 40), 1: Step(5, 10, "items", 2.0, 40)}
    assert combine(both, None) == Step(8, 20, "items", 3.0, 40)


def test_the_users_total_wins_where_items_are_counted():
    """A total for the whole job replaces what the workers' logs add up to, or do not know."""
    assert combine({0: Step(3, 10), 1: Step(5, 10)}, 100) == Step(8, 100)
    assert combine({0: Step(3), 1: Step(5)}, 100) == Step(8, 100)
    assert combine({0: Step(3, None, "it")}, 100) == Step(3, 100, "it")


def test_a_total_of_items_is_not_a_total_of_epochs():
    """Epoch 3 of 10 is not epoch 3 of 50,000, and ten workers in epoch 3 are in epoch 3."""
    steps = {i: Step(3, 10, "epochs") for i in range(10)}
    assert combine(steps, 50_000) == Step(3, 10, "epochs")
    assert combine({0: Step(300, 1000, "steps")}, 50_000) == Step(300, 1000, "steps")


def test_units_that_disagree_are_not_added():
    """The unit of most workers counts; apples are not added to epochs."""
    steps = {0: Step(3, 10, "items"), 1: Step(4, 10, "items"), 2: Step(1, 2, "epochs")}
    assert combine(steps) == Step(7, 20, "items")
    assert combine({}) is None


def test_a_total_that_only_some_know_is_not_the_jobs():
    """One worker without a total leaves the sum open."""
    assert combine({0: Step(3, 10), 1: Step(4)}) == Step(7, None)
