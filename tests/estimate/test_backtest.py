"""Baselines and backtest: known answers, and totals that grow."""

from __future__ import annotations

import pytest

from dogwatch.estimate.backtest import OURS, backtest, unfit
from dogwatch.estimate.baselines import BASELINES
from dogwatch.estimate.progress_rows import Row
from dogwatch.estimate.totals import expected
from dogwatch.model import Point
from tests.estimate.traces import run


def rows(points: list[Point]) -> list[Row]:
    return [Row(point.at, point.done, points[-1].done) for point in points]


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_exact_on_an_even_run(name):
    """And counts the time since the last point."""
    points = [Point(10.0 * i, float(i)) for i in range(41)]
    assert BASELINES[name](points, 100, 405.0) == pytest.approx(595)


def test_baselines_differ_where_they_should():
    """A start of 100 s, then ten steps a second apart, then slower ones."""
    points = [Point(0, 0), *(Point(100.0 + i, 1.0 + i) for i in range(10)), Point(119.0, 11.0)]
    found = {name: baseline(points, 21, 119.0) for name, baseline in BASELINES.items()}
    assert found["linear"] == pytest.approx(119 / 11 * 10)
    assert found["linear without start-up"] == pytest.approx(19)
    assert found["last 5 minutes"] == pytest.approx(119 / 11 * 10)
    assert found["longest of these three"] == max(found["tqdm's EMA (0.3)"] or 0, 119 / 11 * 10)


def test_a_counter_that_has_not_moved_has_no_baseline():
    """None, from each of them."""
    assert {baseline([Point(0, 5), Point(9, 5)], 10, 9) for baseline in BASELINES.values()} == {None}


def test_an_even_run_is_foretold_at_every_moment():
    """All of them within a tenth, the interval held."""
    moments = backtest([rows(run(1000, 1.0, every=5))])
    assert [moment.scores[OURS].within for moment in moments] == [1.0] * 6
    assert [moment.coverage for moment in moments] == [1.0] * 6
    assert all(moment.width is not None and moment.width < 0.8 for moment in moments)


def test_a_moment_before_the_counter_moved_is_not_asked():
    """A start that takes a third of the run leaves the first moments out."""
    moments = backtest([rows(run(100, 1.0, start=60))])
    assert [len(moment.scores[OURS].errors) for moment in moments] == [0, 0, 0, 1, 1, 1]


def test_what_cannot_be_replayed_is_said():
    """Too short, unfinished, without a total, with times that go back, all at once."""
    even = rows(run(100, 1.0))
    assert unfit(even) is None
    assert "three rows" in (unfit(even[:2]) or "")
    assert "did not finish" in (unfit(even[:50]) or "")
    assert "no total" in (unfit([row._replace(total=None) for row in even]) or "")
    assert "go back" in (unfit([*even, even[0]]) or "")
    assert "one moment" in (unfit([row._replace(at=1.0) for row in even]) or "")


def test_a_total_that_grows_is_followed_to_where_it_will_be_met():
    """Half a step of new work for each step done: 1000 more than done now are 2000 more in the end."""
    history = [(float(done), 1000 + done / 2) for done in range(0, 1001, 50)]
    assert expected(history) == pytest.approx(2000)


def test_a_total_that_runs_away_is_none_and_one_that_was_corrected_is_the_newest():
    """As much new work as is done has no end; one change is a correction."""
    assert expected([(float(done), 1000 + done) for done in range(0, 1001, 50)]) is None
    assert expected([(0, 100), (10, 100), (20, 400), (30, 400)]) == 400
    assert expected([(0, 100), (10, None)]) is None
    assert expected([]) is None
