"""When something will be used up: only a steady trend says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.estimate.depletion import EVERY, MOST, gone_in, sample


def history(values, every=EVERY):
    samples: list[list[float]] = []
    for i, value in enumerate(values):
        sample(samples, i * every, value)
    return samples


def test_what_goes_steadily_is_gone_at_its_pace():
    """A hundred units left, one of which goes with every sample, last a hundred samples."""
    found = gone_in(history([160 - i for i in range(61)]))
    assert found == pytest.approx(100 * EVERY)


@pytest.mark.parametrize(
    "values",
    [
        [100.0] * 60,
        [100 + i for i in range(60)],
        [100 - i for i in range(5)],
        [100.0] * 59 + [50.0],
        [100 - 10 * (i % 6) for i in range(60)],
        [1e9 - i for i in range(60)],
    ],
    ids=["still", "growing", "short", "one step", "saw", "hardly"],
)
def test_what_is_no_trend_is_not_told(values):
    """One checkpoint is not a pace, and what is deleted again is not gone."""
    assert gone_in(history(values)) is None


def test_a_long_history_stays_small_and_keeps_its_ends():
    """Samples of weeks cost no more than those of an hour."""
    samples = history([1e6 - i for i in range(5000)])
    assert len(samples) <= MOST
    assert (samples[0][0], samples[-1][0]) == (0.0, 4999 * EVERY)


@given(st.lists(st.floats(0, 1e15), max_size=90))
def test_any_history_gives_a_time_or_none(values):
    """Never a negative one, and never an error."""
    found = gone_in(history(values))
    assert found is None or found >= 0
