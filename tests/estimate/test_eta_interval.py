"""How wide the interval is: by what the run has shown, and by what it may still do."""

from __future__ import annotations

import pytest

from dogwatch.estimate.eta import estimate
from dogwatch.model import Point
from tests.estimate.traces import asked, run, width


def test_a_long_hole_may_come_once_more_at_most():
    """The machine slept for half as long as the whole run takes: the interval does not reach for several nights."""
    points = run(3000, 1.0, every=10)
    points = [point if point.done <= 400 else Point(point.at + 1500, point.done) for point in points]
    past = [point for point in points if point.done <= 900]
    eta = estimate(past, 3000, past[-1].at)
    assert eta is not None
    assert eta.high < 2100 + 3 * 1500
    assert eta.low > 700


def test_a_count_told_right_after_another_is_no_new_pace():
    """The newest line came a moment after the one before it, as two parts of a program count."""
    points = run(2000, 1.0, every=20)[:40]
    doubled = [*points, Point(points[-1].at + 0.001, points[-1].done + 1)]
    once, twice = (estimate(past, 2000, points[-1].at + 1) for past in (points, doubled))
    assert once is not None
    assert twice is not None
    assert twice.remaining == pytest.approx(once.remaining, rel=0.01)
    assert width(twice) < 1.1 * width(once)


def test_steps_that_were_skipped_on_a_resume_are_no_pace():
    """A bar that runs over what was done before, in seconds, says nothing of the steps that take their time."""
    points = run(2000, 1.0, every=2, first=600)
    skipped = [Point(-13.0, 0.0), Point(-12.0, 100.0), Point(-8.0, 400.0)]
    calm, _ = asked(points, 0.5)
    eta, truth = asked([*skipped, *points], 0.5)
    assert eta.remaining == pytest.approx(truth, rel=0.05)
    assert width(eta) < 6 * width(calm)


def test_what_was_measured_a_few_times_is_less_sure():
    """The same even run, told ten times and two hundred times."""
    often, seldom = asked(run(2000, 1.0, every=10), 0.6)[0], asked(run(2000, 1.0, every=200), 0.6)[0]
    assert seldom.low < 0.96 * often.low
    assert seldom.high > 1.04 * often.high


def test_a_restless_run_has_a_wider_interval():
    """What its own past could not foretell, its future will not be either."""
    calm, _ = asked(run(2000, 1.0, every=10), 0.5)
    wild, truth = asked(run(2000, lambda step: 1.0 if (step // 150) % 2 else 2.2, every=10), 0.5)
    assert width(wild) > 3 * width(calm)
    assert wild.low <= truth <= wild.high


def test_a_young_run_may_still_show_something_else():
    """At a twentieth the interval reaches further, above all upwards, than in the middle."""
    points = run(2000, 1.0, every=10)
    young, old = asked(points, 0.05)[0], asked(points, 0.5)[0]
    assert width(young) > 2 * width(old)
    assert young.high / young.remaining > young.remaining / young.low
