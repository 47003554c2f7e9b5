"""A lasting loss of throughput and a worker that is behind are seen, with the moment; a phase is neither."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.estimate.series import add
from dogwatch.estimate.slowdown import has_recovered, slowdown, straggler
from dogwatch.model import Point

NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.floats(0, 1e4))


def trace(*stretches: tuple[int, float], every: int = 0, pause: float = 0.0, start: float = 0.0) -> list[Point]:
    """Points ten steps apart: stretches of (points, seconds a step), a pause every so many points."""
    rng, at, points = Random(5), start, [Point(0.0, 0.0)]
    for count, pace in stretches:
        for _ in range(count):
            at += 10 * pace * rng.uniform(0.95, 1.05)
            at += pause if every and len(points) % every == 0 else 0.0
            points.append(Point(at, 10.0 * len(points)))
    return points


def test_a_lasting_loss_of_a_third_is_seen_with_its_moment():
    """One step a second, then two in three seconds: found, with both rates and the moment of the change."""
    points = trace((200, 1.0), (60, 1.5))
    found = slowdown(points, points[-1].at)
    assert found is not None
    assert found.since == pytest.approx(2000, abs=60)
    assert found.from_rate == pytest.approx(1.0, rel=0.03)
    assert found.to_rate == pytest.approx(0.667, rel=0.03)


def test_a_slowdown_stays_found_and_keeps_its_moment():
    """However long it goes on, and though the history is thinned meanwhile."""
    points: list[Point] = []
    for point in trace((200, 1.0), (900, 1.5)):
        add(points, point)
        if point.done > 2600:
            found = slowdown(points, point.at)
            assert found is not None
            assert found.since == pytest.approx(2000, abs=150)


def test_a_slowdown_that_passed_is_none():
    """Slow for a while and then as quick as before: nothing to say."""
    points = trace((200, 1.0), (60, 1.5), (100, 1.0))
    assert slowdown(points, points[-1].at) is None


@pytest.mark.parametrize("upto", range(45, 300, 7))
def test_a_validation_is_no_slowdown_at_any_moment(upto):
    """A pause of six minutes every 400 steps, the first of them included."""
    points = trace((300, 1.0), every=40, pause=360.0)[:upto]
    assert slowdown(points, points[-1].at + 300) is None


def test_validations_that_begin_late_are_no_slowdown():
    """A run that validates only from its middle on is as quick as ever in between."""
    steps = trace((200, 1.0))
    late = [Point(p.at + 90.0 * max(0, (i - 100) // 4), p.done) for i, p in enumerate(steps)]
    assert slowdown(late, late[-1].at) is None


def test_a_slowdown_between_validations_is_seen():
    """Pauses before and after the change do not hide it."""
    points = trace((200, 1.0), (120, 1.6), every=20, pause=120.0)
    found = slowdown(points, points[-1].at)
    assert found is not None
    assert found.since == pytest.approx(points[200].at, abs=300)


def test_a_slow_start_and_small_changes_are_no_slowdown():
    """Compiling, a loss of a tenth, and a job that only became quicker are nothing to tell."""
    assert slowdown(trace((300, 1.0), start=1200.0), 1e9) is None
    assert slowdown(trace((200, 1.0), (100, 1.1)), 1e9) is None
    assert slowdown(trace((100, 1.5), (200, 1.0)), 1e9) is None


def test_a_worker_behind_its_equals_is_named_with_its_moment():
    """Three keep one pace, the fourth loses a third of it in the middle of the run."""
    workers = {i: trace((300, 1.0)) for i in range(3)} | {3: trace((150, 1.0), (100, 1.5))}
    found = straggler(workers, 3000)
    assert found is not None
    assert found.worker == 3
    assert found.since == pytest.approx(1500, abs=150)
    assert found.rate == pytest.approx(0.667, rel=0.05)
    assert found.others == pytest.approx(1.0, rel=0.05)


def test_a_worker_that_was_always_slow_is_behind_from_its_start():
    """The moment is its own first point."""
    workers = {i: trace((300, 1.0)) for i in range(3)} | {"slow": trace((200, 1.5))}
    found = straggler(workers, 3000)
    assert found is not None
    assert (found.worker, found.since) == ("slow", 0.0)


def test_without_equals_nobody_is_behind():
    """Two workers, workers of all kinds of paces, workers alike, and one that stopped: none."""
    assert straggler({0: trace((300, 1.0)), 1: trace((200, 1.5))}, 3000) is None
    assert straggler({i: trace((300, 1.0 + 0.5 * i)) for i in range(4)}, 3000) is None
    assert straggler({i: trace((300, 1.0)) for i in range(4)}, 3000) is None
    stopped = {i: trace((300, 1.0)) for i in range(3)} | {3: trace((100, 1.0))}
    assert straggler(stopped, 3000) is None


@settings(max_examples=200)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=80), NUMBERS)
def test_whatever_the_history_what_is_found_makes_sense(pairs, now):
    """Rates are finite and the second is the lower."""
    points = [Point(*pair) for pair in pairs]
    found = slowdown(sorted(points, key=lambda p: (not math.isnan(p.at), p.at)), now)
    if found is not None:
        assert 0 <= found.to_rate < found.from_rate < math.inf
    straggler({i: points for i in range(4)}, now)


@pytest.mark.parametrize("look", [5.0, 15.0, 60.0])
def test_six_times_slower_is_seen_within_minutes(look):
    """After two minutes at full speed, whatever the interval between polls (a minute where the job is long)."""
    first = [Point(at, at * 6) for at in (look * i for i in range(int(120 / min(look, 15.0)) + 1)) if at <= 120]
    first = first if len(first) > 8 else [Point(15.0 * i, 90.0 * i) for i in range(9)]
    slow = [Point(120 + look * i, 720 + look * i) for i in range(1, int(840 / look))]
    seen = next(point.at for i, point in enumerate(slow) if slowdown([*first, *slow[: i + 1]], point.at) is not None)
    assert seen - 120 <= 360


def test_a_fifth_less_is_seen_when_it_has_lasted_and_not_before():
    """Ten to fifteen minutes of a run of an hour."""
    steady, slower = trace((360, 1.0)), 1.3
    for points, seen in (
        (steady, False),
        (trace((360, 1.0), (40, slower)), False),
        (trace((360, 1.0), (90, slower)), True),
    ):
        assert (slowdown(points, points[-1].at) is not None) is seen


def test_one_burst_is_no_peak():
    """A minute at five times the speed, over what was done before, is not what the rest is measured by."""
    points = trace((40, 1.0), (30, 0.2), (200, 1.0))
    assert slowdown(points, points[-1].at) is None


def test_a_job_that_is_uneven_by_nature_is_not_slow_by_chance():
    """Gaps that vary by half: an unlucky stretch is no slow-down, half the speed for long is one."""
    rng, at, points = Random(3), 0.0, []
    for number in range(600):
        at += 30 * rng.lognormvariate(0, 0.5)
        points.append(Point(at, 10.0 * number))
    assert not any(slowdown(points[:upto], points[upto - 1].at) for upto in range(30, 600, 5))
    for number in range(600, 700):
        at += 90 * rng.lognormvariate(0, 0.5)
        points.append(Point(at, 10.0 * number))
    assert slowdown(points, at) is not None


def test_a_slow_job_has_recovered_when_it_is_nearly_as_quick_as_before():
    """Not at the first quick step, and not by a little."""
    points = trace((200, 1.0), (60, 2.0))
    found = slowdown(points, points[-1].at)
    assert found is not None
    assert not has_recovered(points, points[-1].at, found)
    for more, pace, back in ((2, 1.0, False), (40, 1.25, False), (40, 1.0, True)):
        later = trace((200, 1.0), (60, 2.0), (more, pace))
        assert has_recovered(later, later[-1].at, found) is back
