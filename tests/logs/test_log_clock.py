"""One clock for a log: which times are believed, and how a clock runs on over midnight, bars and corrections."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs.log_clock import Count, choose, forward

DAY = 86400.0


def run(
    axis: str, values: list[float], steps: list[float] | None = None, rate: float | None = None
) -> list[float | None]:
    rows = [{axis: value} for value in values]
    return choose(counts(steps or [float(n) for n in range(len(values))], rate), rows, [{}] * len(rows))


def counts(steps: Iterable[float], rate: float | None = None) -> list[Count]:
    return [Count(step, rate) for step in steps]


def test_midnight_without_a_date_is_a_new_day() -> None:
    """A time of day goes on after 23:59."""
    assert run("day", [86300.0, 86390.0, 80.0, 170.0]) == [86300.0, 86390.0, 86480.0, 86570.0]


def test_a_line_that_is_overtaken_at_midnight_makes_no_second_day() -> None:
    """Two ranks that write at 23:59:59 and 00:00:00 in the wrong order."""
    times = run("day", [86390.0, 5.0, 86399.0, 10.0, 20.0])
    assert times[-1] == DAY + 20
    assert all(a <= b for a, b in pairwise(t for t in times if t is not None))


def test_new_year_without_a_year_goes_on() -> None:
    """31 December is followed by 1 January, not by a fall of a year."""
    last, first = 1735603200.0, 1704067200.0  # of the leap year that stands for all
    found = run("yearless", [last - 100, last, first + 100, first + 200])
    assert all(a <= b for a, b in pairwise(t for t in found if t is not None))
    assert found[-1] is not None
    assert found[0] is not None
    assert found[-1] - found[0] < 3 * DAY


def test_a_clock_that_is_set_back_runs_on_from_where_it_stood() -> None:
    """An hour back in autumn: the seconds after it count as before."""
    times = forward([0.0, 600.0, 1200.0, -1800.0, -1200.0, -600.0])
    assert times == [0.0, 600.0, 1200.0, 1200.0, 1800.0, 2400.0]


def test_one_late_line_is_not_a_clock_that_was_set() -> None:
    """Lines of several ranks arrive out of order; the others keep their times."""
    assert forward([0.0, 10.0, 7.0, 20.0, 30.0]) == [0.0, 10.0, 10.0, 20.0, 30.0]


def test_bars_one_after_the_other_are_one_stopwatch() -> None:
    """Every epoch's bar starts at zero; the run does not."""
    assert run("bar", [0.0, 30.0, 60.0, 0.0, 30.0, 60.0]) == [0.0, 30.0, 60.0, 60.0, 90.0, 120.0]


def test_the_end_of_a_bar_that_was_not_kept_took_its_time() -> None:
    """Epochs of 100 s, of which a long log keeps a line or two each: what lies between two of them went by as well."""
    times = run("bar", [0.0, 60.0, 20.0, 90.0, 50.0], [0.0, 0.6, 1.2, 1.9, 2.5], rate=0.01)
    assert times == [0.0, 60.0, 120.0, 190.0, 250.0]


def test_bars_that_nobody_saw_took_their_time() -> None:
    """From the third of the first epoch to the half of the fifth the clock went from 30 s to 50 s."""
    assert run("bar", [0.0, 30.0, 50.0], [0.0, 0.3, 4.5], rate=0.01) == [0.0, 30.0, 450.0]


def test_a_bar_that_becomes_quicker_is_believed() -> None:
    """Its own clock is exact; the rate it shows is smoothed, and late."""
    assert run("bar", [0.0, 50.0, 60.0], [0.0, 0.5, 0.8], rate=0.015) == [0.0, 50.0, 60.0]


def test_a_stopwatch_that_falls_all_the_time_is_none() -> None:
    """What every step took is not what the run took."""
    assert run("elapsed", [0.5, 0.4, 0.5, 0.3, 0.6, 0.4]) == [None] * 6


def test_a_pace_is_summed_over_the_units_between_two_lines() -> None:
    """Two seconds a step, a line every ten steps."""
    assert run("pace", [2.0, 2.0, 2.0], [10.0, 20.0, 30.0]) == [0.0, 20.0, 40.0]


def test_a_slow_line_does_not_speak_for_its_neighbours() -> None:
    """The step with a validation in it took a minute, the nine before it did not."""
    times = run("pace", [1.0, 1.0, 60.0, 1.0], [10.0, 20.0, 30.0, 40.0])
    assert times == [0.0, 10.0, 79.0, 89.0]


def test_a_first_step_that_compiles_does_not_speak_for_those_after_it() -> None:
    """It took a minute, the nine before the next line a second each."""
    times = run("pace", [60.0, 1.0, 1.0, 1.0], [0.0, 10.0, 20.0, 30.0])
    assert times == [0.0, 10.0, 20.0, 30.0]


def test_days_and_months_are_told_apart_by_the_whole_log() -> None:
    """09/10 to 11/10 in two days: the days come first; the other reading would take two months."""
    rows = [
        {"wall dmy": 1728432000.0, "wall mdy": 1725926400.0},
        {"wall dmy": 1728518400.0, "wall mdy": 1728518400.0},
        {"wall dmy": 1728604800.0, "wall mdy": 1731196800.0},
    ]
    assert choose(counts([1.0, 2.0, 3.0]), rows, [{}] * 3) == [row["wall dmy"] for row in rows]


def test_a_clock_on_the_lines_themselves_is_believed_before_one_nearby() -> None:
    """A date on another line may be old; the bar's own clock is not."""
    own, near = (
        [{"bar": float(n)} for n in range(4)],
        [{"wall": 1e9}, {"wall": 1e9}, {"wall": 1e9 + 1}, {"wall": 1e9 + 1}],
    )
    assert choose(counts([0.0, 1.0, 2.0, 3.0]), own, near) == [0.0, 1.0, 2.0, 3.0]
    assert choose(counts([0.0, 1.0, 2.0, 3.0]), [{}] * 4, near) == [1e9, 1e9, 1e9 + 1, 1e9 + 1]


def test_a_clock_that_stands_still_is_no_clock() -> None:
    """One date in a header says nothing of the lines below it."""
    assert run("wall", [1e9, 1e9, 1e9]) == [None] * 3


def test_a_number_called_time_is_a_clock_where_it_grows_with_the_counter() -> None:
    """Seconds since the start are; what each step took is not, though it may become slower bit by bit."""
    assert run("count", [3.0, 6.5, 9.0, 12.5, 15.0]) == [3.0, 6.5, 9.0, 12.5, 15.0]
    assert run("count", [903.0, 906.0, 909.0, 912.0], [301.0, 302.0, 303.0, 304.0]) == [903.0, 906.0, 909.0, 912.0]
    assert run("count", [0.30, 0.31, 0.32, 0.32, 0.33]) == [None] * 5


AXES = ["wall", "wall dmy", "wall mdy", "yearless", "day", "elapsed", "bar", "count", "pace"]
ROWS = st.dictionaries(st.sampled_from(AXES), st.floats(0, 2e9), max_size=4)

RATES = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.builds(Count, st.floats(0, 1e9), RATES), ROWS, ROWS), max_size=12))
def test_time_never_runs_backwards(records) -> None:
    """Whatever the lines say, in whatever order."""
    told = [count for count, _, _ in records]
    times = choose(told, [own for _, own, _ in records], [near for _, _, near in records])
    assert len(times) == len(records)
    known = [time for time in times if time is not None]
    assert all(a <= b for a, b in pairwise(known))
