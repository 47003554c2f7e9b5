"""Where a job may begin something new, by its counter: at ends of epochs, parts of the whole and round numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.estimate.milestones import COUNTED, UNKNOWN_POSITION, Position, RunPosition, run_position
from dogwatch.estimate.planned_stops import planned_stops
from dogwatch.model import Interval, Point

TOLD = (Interval("save", 700.0, "steps"), Interval("evaluate", 0.0, "steps"))


def walk(done: float, stride: float, first: float = 0.0) -> list[Point]:
    """A counter that has come from `first` to `done` in even strides."""
    count = max(COUNTED + 1, min(200, int((done - first) / stride)))
    moves = [Point(10.0 * i, done - stride * (count - i)) for i in range(1, count + 1)]
    return [Point(0.0, first), *(point for point in moves if point.done > first)]


@pytest.mark.parametrize("epochs", [2, 3, 5, 8, 9, 12, 24, 30])
def test_the_last_line_of_the_first_epoch_is_at_a_milestone(epochs: int) -> None:
    """Whether the log shows that there are epochs or only how many steps there are in all."""
    steps = 3671
    last_line = steps // 50 * 50
    assert run_position(walk(last_line, 50), epochs * steps, "steps", paused=True).position is Position.MILESTONE
    assert (
        run_position(walk(last_line / steps, 50 / steps), epochs, "epochs", paused=True).position is Position.MILESTONE
    )


@pytest.mark.parametrize("step", [990, 4990, 9990, 24_990, 60_000])
def test_a_round_number_of_steps_is_a_milestone(step: int) -> None:
    """Validation every 1,000, 5,000 or 25,000 steps begins there."""
    assert run_position(walk(step, 10), 100_003, "steps", paused=True).position is Position.MILESTONE


def test_between_two_milestones_nothing_is_due() -> None:
    """In the middle of an epoch nothing begins."""
    assert run_position(walk(40_250, 50), 12 * 7330, "steps").position is Position.BETWEEN
    assert run_position(walk(5.42, 0.01), 12, "epochs").position is Position.BETWEEN
    assert run_position(walk(173, 1), 500, "steps").position is Position.BETWEEN


def test_early_in_a_run_that_has_not_paused_every_place_is_near() -> None:
    """It may be going to pause a hundred times; a pause that was seen tells what it does. A round number is a milestone
    whenever it comes."""
    early = walk(5650, 50)
    assert run_position(early, 12 * 7330, "steps").position is Position.EARLY
    assert run_position(walk(4950, 50), 12 * 7330, "steps").position is Position.MILESTONE
    assert run_position(early, 12 * 7330, "steps", paused=True).position is Position.BETWEEN


def test_a_counter_of_epochs_needs_no_total() -> None:
    """It tells itself where epochs end; ends that were passed again and again are no news."""
    assert run_position(walk(11.95, 0.1), None, "epochs").position is Position.BETWEEN
    assert run_position(walk(0.95, 0.05), None, "epochs").position is Position.MILESTONE
    assert run_position(walk(9.95, 0.1), None, "epochs").position is Position.MILESTONE
    assert run_position(walk(11.95, 0.1), None, "epochs").epochs_known
    assert not run_position(walk(1.9, 0.1), None, "epochs").epochs_known


def test_a_counter_of_epochs_tells_how_long_one_takes() -> None:
    """Also one that has moved only a few times; not before two were passed, and no other counter does."""
    assert run_position(walk(11.95, 0.1), None, "epochs").epoch_seconds == pytest.approx(100.0, rel=0.01)
    assert run_position([Point(0.0, 1.0), Point(900.0, 4.0)], 50, "epochs") == RunPosition(epoch_seconds=300.0)
    assert run_position(walk(1.9, 0.1), None, "epochs").epoch_seconds is None
    assert run_position(walk(600, 10), 5000, "steps").epoch_seconds is None
    assert run_position([], None, "epochs") == UNKNOWN_POSITION


def test_the_end_of_an_epoch_whose_length_was_told_is_a_milestone_until_some_were_passed() -> None:
    """What a job does at the end of every epoch it has shown by then."""
    told = [*TOLD, Interval("epoch", 330.0, "steps")]
    assert run_position(walk(320, 10), None, "steps", intervals=told).position is Position.MILESTONE
    assert run_position(walk(650, 10), None, "steps", intervals=told).position is Position.MILESTONE
    assert run_position(walk(980, 10), None, "steps", intervals=told).position is Position.BETWEEN


def test_some_hundred_lines_without_a_pause_are_not_early_any_more() -> None:
    """However long the way still is."""
    assert run_position(walk(173, 1), 90_001, "steps").position is Position.EARLY
    assert run_position(walk(373, 1), 90_001, "steps").position is Position.BETWEEN


def test_a_validation_that_starts_late_may_begin_at_any_epoch_of_few() -> None:
    """Such as after fifteen of twenty; by a plain count of steps that is three quarters."""
    assert run_position(walk(14.99, 0.02), 20, "epochs").position is Position.MILESTONE
    assert run_position(walk(15 * 1200 - 20, 20), 20 * 1200, "steps").position is Position.MILESTONE


def test_the_end_is_a_milestone() -> None:
    """The last evaluation, the export and the upload come there, and the last line may be some steps before it."""
    assert run_position(walk(87_900, 50), 87_960, "steps", paused=True).position is Position.MILESTONE
    assert run_position(walk(88_500, 50), 87_960, "steps", paused=True).position is Position.MILESTONE


def test_a_run_that_was_resumed_has_its_places_ahead_of_where_it_began() -> None:
    """What it did before is not known; the next epoch's end may be its first."""
    assert run_position(walk(41_200, 50, first=37_500), 45_000, "steps").position is Position.MILESTONE
    assert run_position(walk(41_200, 50, first=37_500), 45_000, "steps", paused=True).position is Position.MILESTONE
    assert run_position(walk(43_350, 50, first=20_000), 45_000, "steps").position is Position.BETWEEN


@pytest.mark.parametrize("total", [None, 0.0, -5.0, math.nan, math.inf])
def test_without_a_total_nobody_knows_where_a_job_is(total: float | None) -> None:
    """Its end, and what comes there, may be the next thing."""
    assert run_position(walk(40_250, 50), total, "steps", paused=True).position is Position.UNKNOWN


def test_a_counter_below_nought_has_no_round_numbers_ahead() -> None:
    """Some count down to nought, and then on."""
    assert run_position([Point(float(i), -90.0 + i) for i in range(40)], None, "epochs").position is Position.BETWEEN


def test_a_counter_near_the_largest_number_has_no_round_numbers_ahead() -> None:
    """What lies three strides ahead of it is beyond all numbers."""
    leap = 7e307
    assert run_position([Point(float(i), (i // 20) * leap) for i in range(41)], None, "epochs").position in Position


def test_a_counter_that_hardly_moved_has_no_position() -> None:
    """Its stride is not known yet."""
    assert run_position(walk(10, 1)[:COUNTED], 500, "steps", paused=True).position is Position.UNKNOWN
    assert (
        run_position([Point(float(i), 7.0) for i in range(40)], 500, "steps", paused=True).position is Position.UNKNOWN
    )


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40),
    st.none() | st.floats(),
    st.sampled_from(["steps", "epochs", "%", ""]),
    st.booleans(),
    st.lists(
        st.builds(
            Interval,
            st.sampled_from(["save", "evaluate", "log", "epoch"]),
            st.floats(0, 1e12, allow_nan=False),
            st.sampled_from(["steps", "epochs", ""]),
        ),
        max_size=4,
    ),
)
def test_any_counter_has_an_answer(
    counts: list[float], total: float | None, unit: str, paused: bool, intervals: list[Interval]
) -> None:
    """However absurd the numbers that a log prints."""
    points = [Point(float(i), count) for i, count in enumerate(sorted(counts))]
    assert run_position(points, total, unit, paused=paused, intervals=intervals).position in Position


def test_between_the_stops_that_a_configuration_names_nothing_is_due() -> None:
    """From the beginning, without a total, and whatever round number is near."""
    early = run_position(walk(230, 10), 90_000, "steps", intervals=TOLD)
    assert (early.position, early.epochs_known) == (Position.BETWEEN, True)
    assert run_position(walk(1000, 10), None, "steps", intervals=TOLD).position is Position.BETWEEN
    assert run_position(walk(1390, 10), None, "steps", intervals=TOLD).position is Position.MILESTONE
    assert run_position(walk(89_990, 10), 90_000, "steps", intervals=TOLD).position is Position.MILESTONE


def test_a_configuration_that_names_one_stop_may_keep_silent_on_others() -> None:
    """Only who says when it saves and when it evaluates has said all, and "never" alone says nothing; the one that is
    named is a milestone."""
    save = TOLD[:1]
    never = [Interval(what, 0.0, "steps") for what in ("save", "evaluate")]
    assert run_position(walk(230, 10), None, "steps", intervals=never).position is Position.UNKNOWN
    assert run_position(walk(230, 10), None, "steps", intervals=save).position is Position.UNKNOWN
    assert run_position(walk(40_600 - 10, 10), 12 * 7330, "steps", intervals=save).position is Position.MILESTONE
    assert not run_position(walk(40_250, 50), 12 * 7330, "steps", intervals=save).epochs_known


@pytest.mark.parametrize(
    ("interval", "unit", "stride", "expected"),
    [
        (Interval("save", 2.0, "epochs"), "steps", 10.0, (260.0,)),
        (Interval("save", 2.0, ""), "steps", 10.0, (260.0,)),
        (Interval("save", 40.0, ""), "steps", 10.0, (40.0, 5200.0)),
        (Interval("save", 65.0, "steps"), "epochs", 0.1, (0.5,)),
        (Interval("save", 5.0, ""), "epochs", 1.0, (5.0,)),
    ],
)
def test_an_interval_is_told_in_the_unit_of_the_counter(
    interval: Interval, unit: str, stride: float, expected: tuple[float, ...]
) -> None:
    """By the length of an epoch; a number without a unit is taken for whatever it can be."""
    assert planned_stops([Interval("epoch", 130.0, "steps"), interval], unit, stride).every == expected


def test_the_first_stop_that_is_told_is_due_and_later_ones_are_known() -> None:
    """Also where a run was resumed in between, and never where none is told."""
    assert run_position(walk(690, 10), None, "steps", intervals=TOLD).due
    assert not run_position(walk(640, 10), None, "steps", intervals=TOLD).due
    assert not run_position(walk(1390, 10), None, "steps", intervals=TOLD).due
    assert run_position(walk(1390, 10, first=900), 5000, "steps", intervals=TOLD).due
    assert not run_position(walk(690, 10), 5000, "steps").due
