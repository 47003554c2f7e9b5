"""A series as it was told: one counter or several workers', and what is left by its newest total."""

from __future__ import annotations

import random

import pytest

from dogwatch.estimate.progress_rows import Row, eta_of_rows, split_workers


def even(seconds: float, steps: int, total: float, late: float = 0.0) -> list[Row]:
    """A row for every step of so many seconds."""
    return [Row(late + seconds * i, float(i), total) for i in range(steps + 1)]


def test_two_workers_in_one_series_are_done_when_the_slower_one_is() -> None:
    """One needs 10 s a step, the other 20 s: their counts alternate, and neither goes back."""
    rows = sorted(even(10, 50, 100) + even(20, 25, 100, late=3))
    found = eta_of_rows(rows, rows[-1].at)
    assert found is not None
    assert found.remaining == pytest.approx(1500, rel=0.05)


def test_workers_with_totals_of_their_own_are_told_apart() -> None:
    """50 of 100 beside 150 of 400: the second has 250 to go at three per 10 s."""
    rows = sorted(even(10, 50, 100) + [Row(10 * i + 3.0, 3.0 * i, 400) for i in range(51)])
    found = eta_of_rows(rows, rows[-1].at)
    assert found is not None
    assert found.remaining == pytest.approx(833, rel=0.05)


def test_workers_that_are_nearly_even_go_at_the_pace_of_one() -> None:
    """Four ranks tell the same step, some of them one later."""
    dice = random.Random(5)
    rows = sorted(Row(10.0 * i + k, float(i + dice.choice((0, 0, 1))), 100) for i in range(51) for k in range(4))
    found = eta_of_rows(rows, rows[-1].at)
    assert found is not None
    assert found.low <= 490 <= found.high


def test_one_counter_is_no_crowd() -> None:
    """Neither one that only rises, nor one that resumed, once or all the time, nor one
    that starts again with every epoch."""
    assert split_workers(even(10, 50, 100)) == []
    assert split_workers([*even(10, 50, 100), *even(10, 50, 100, late=1000)]) == []
    laps = [Row(10.0 * (6 * lap + i), float(i), 5) for lap in range(20) for i in range(6)]
    assert split_workers(laps) == []
    again = [Row(10.0 * (8 * life + i), float(5 * life + i), 200) for life in range(20) for i in range(8)]
    assert split_workers(again) == []


def test_only_what_had_been_written_by_then_counts() -> None:
    """Rows of the future are not known yet."""
    rows = even(10, 80, 100)
    assert eta_of_rows(rows, 400.0) == eta_of_rows(rows[:41], 400.0)
