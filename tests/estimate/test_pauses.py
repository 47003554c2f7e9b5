"""Pauses: found in the gaps, told from noise and from a slower pace, and carried on only where they are regular."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from dogwatch.estimate.gap_history import gap_history
from dogwatch.estimate.pauses import find
from dogwatch.model import Point
from tests.estimate.traces import run


def found(points: list[Point], silence: float = 0.0):
    way = gap_history(points, points[-1].at + silence)
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


def uneven(told: list[int], pauses: Sequence[int], seconds: float = 15.0) -> list[Point]:
    """A run told at these counts, with a pause at each of the others before its count is told."""
    points, at = [Point(0.0, 0.0)], 0.0
    for count in sorted({*told, *pauses}):
        at += 1.013 * (count - points[-1].done) + (seconds if count in pauses else 0.0)
        points.append(Point(at, float(count)))
    return points


def test_uneven_gaps_pin_a_cycle_down_to_the_step():
    """Told every 10 steps, and after each validation at a multiple of 48: the period is 48 and the next is at 432."""
    (cycle,) = found(uneven([*range(10, 390, 10)], range(48, 390, 48))).cycles
    assert cycle.every == pytest.approx(48)
    assert cycle.ahead(384, 480)[0] == pytest.approx(432, abs=1.5)


def test_a_pause_before_the_last_count_is_told_is_waited_for():
    """A run that ends with a validation, whose count has always been told after it."""
    (cycle,) = found(uneven([*range(10, 390, 10)], range(48, 390, 48))).cycles
    assert len(cycle.ahead(384, 432)) == 1


def test_a_cycle_that_jumped_is_pinned_by_its_newest_pauses():
    """Each 48 steps, and once 52: what the newest agree on holds."""
    (cycle,) = found(uneven([*range(10, 630, 10)], [*range(48, 200, 48), *range(244, 600, 48)])).cycles
    assert cycle.every == pytest.approx(48, abs=0.2)


def test_a_pause_before_its_kind_came_in_a_cycle_is_no_cycle_of_its_own():
    """The first at 340, then each 60 from 450 on: the one that stands alone is not expected again at 680."""
    cycles = found(uneven([*range(10, 640, 10)], [340, *range(450, 640, 60)])).cycles
    assert [cycle.every for cycle in cycles] == [pytest.approx(60, abs=1)]


def test_a_cycle_of_parts_of_an_epoch_keeps_its_parts():
    """Told in fiftieths of an epoch with a validation at every half: 0.5, and not the next whole number."""
    points = [Point(p.at, p.done / 50) for p in uneven([*range(1, 150)], range(25, 150, 25))]
    (cycle,) = found(points).cycles
    assert cycle.every == pytest.approx(0.5, rel=0.05)


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


def test_long_gaps_that_come_all_the_time_are_the_pace():
    """One in six, at odd places, is four times as long, as of a counter that is told unevenly: none is a pause."""
    rng, points = Random(3), [Point(0.0, 0.0)]
    for step in range(1, 200):
        points.append(Point(points[-1].at + (40 if rng.random() < 0.17 else 10), float(step)))
    pauses = found(points)
    assert not pauses.chance
    assert not any(pauses.beyond)


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


def with_pauses(steps: int, at: dict[int, float]) -> list[Point]:
    """A count a second, and so many seconds more before some."""
    points, now = [Point(0.0, 0.0)], 0.0
    for step in range(1, steps + 1):
        now += 1.0 + at.get(step, 0.0)
        points.append(Point(now, float(step)))
    return points


def test_a_cycle_that_has_ceased_is_over():
    """Every three steps at first, and then no more for ten times as long: nothing of it is expected."""
    pauses = found(with_pauses(100, {4: 9, 7: 9, 10: 9}))
    assert not pauses.cycles
    assert not pauses.chance


def test_a_cycle_may_begin_late():
    """Validation every 20 steps from the hundredth on: known after four."""
    (cycle,) = found(with_pauses(175, {step: 9.0 for step in range(100, 176, 20)})).cycles
    assert cycle.every == pytest.approx(20, abs=1)
    assert cycle.seen == 4


def test_pauses_that_began_late_come_as_often_as_since_then():
    """Two in the last quarter of the way, none before: the way in which they came is not the whole."""
    pauses = found(with_pauses(200, {160: 9.0, 187: 11.0}))
    assert len(pauses.chance) == 2
    assert pauses.way == pytest.approx(68, abs=2)
    assert found(with_pauses(200, {70: 9.0, 187: 11.0})).way == pytest.approx(199, abs=2)


def test_one_endless_pause_of_a_cycle_does_not_make_the_others_long():
    """A night in the queue that fell on a validation is not how long validations last."""
    lengths = {step: 20.0 for step in range(30, 300, 30)} | {150: 20_000.0}
    (cycle,) = found(with_pauses(200, lengths)).cycles
    assert cycle.seconds < 40


def test_a_hole_in_a_run_is_no_kind_of_pause():
    """A laptop that was shut for a week: nothing of it is carried on, and the pace does not hold it."""
    pauses = found(with_pauses(100, {50: 600_000.0}))
    assert not pauses.cycles
    assert not pauses.chance
    assert max(pauses.beyond) > 599_000
