"""Pauses: found in the gaps, told from noise and from a slower pace, and carried on only where they are regular."""

from __future__ import annotations

import pytest

from dogwatch.estimate.course import course
from dogwatch.estimate.pauses import find
from dogwatch.model import Point
from tests.estimate.traces import run


def found(points: list[Point], silence: float = 0.0):
    way = course(points, points[-1].at + silence)
    assert way is not None
    return find(way, silence)


def test_a_cycle_has_its_period_and_its_length():
    """A validation of 200 s every 300 steps, seen five times."""
    (cycle,) = found(run(1800, 1.0, every=10, pauses=[(300, 200)])).cycles
    assert cycle.every == pytest.approx(300, abs=5)
    assert cycle.seconds == pytest.approx(200, rel=0.05)
    assert cycle.seen == 5


def test_the_pauses_ahead_are_counted_to_the_end_and_not_beyond():
    """From step 1000 of 1500: at 1200 and nowhere else, as the one at 1500 comes after the last step."""
    (cycle,) = found(run(1000, 1.0, every=10, pauses=[(300, 200)])).cycles
    assert cycle.ahead(1000, 1500) == [pytest.approx(1205, abs=10)]
    assert len(cycle.ahead(1000, 3000)) == 6


def test_noise_has_no_pauses():
    """Gaps that differ by a third are what they are."""
    pauses = found(run(1000, 1.0, every=10, noise=0.9))
    assert not pauses.cycles
    assert not pauses.chance


def test_a_slower_pace_is_no_pause():
    """A run that became twice as slow has no pauses, but for the gaps at the change."""
    pauses = found(run(1000, lambda step: 1.0 if step < 500 else 2.2, every=10))
    assert not pauses.cycles
    assert sum(pauses.chance) < 60


def test_hiccups_at_odd_places_are_chance():
    """They are counted and not expected at any place."""
    points = run(2000, 1.0, every=10)
    for place in (410, 570, 1300, 1490):
        points = [p if p.done < place else Point(p.at + 120, p.done) for p in points]
    pauses = found(points)
    assert not pauses.cycles
    assert len(pauses.chance) == 4


def test_a_pause_going_on_belongs_to_the_cycle_that_is_due():
    """A minute into a validation of 200 s it will last 200 s; out of the blue it may last half as long again."""
    points = run(1200, 1.0, every=10, pauses=[(300, 200)])
    due = [point for point in points if point.done <= 900]
    assert found(due, 70).going == pytest.approx(200, rel=0.05)
    blue = [point for point in points if point.done <= 1050]
    assert found(blue, 100).going == pytest.approx(150, rel=0.1)


def test_with_few_gaps_nothing_is_called_a_pause():
    """Three epochs of which one took twice as long are no evidence."""
    pauses = found([Point(0, 0), Point(10, 1), Point(20, 2), Point(40, 3)])
    assert not any(pauses.beyond)
