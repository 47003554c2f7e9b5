"""How far off the average of the past would have been."""

from __future__ import annotations

import math

import pytest

from dogwatch.estimate.hindsight import hindsight


def of(paces: list[float], ahead: float) -> float:
    """Of a run whose gaps are one step each and take so many seconds."""
    return hindsight([1.0] * len(paces), paces, ahead)


def test_an_even_run_was_never_off() -> None:
    """However much of it is ahead."""
    assert of([2.0] * 40, 40) == pytest.approx(0)
    assert of([2.0] * 40, 4000) == pytest.approx(0)


def test_a_run_that_became_slower_was_off_by_that() -> None:
    """At half of what it has done it would have foretold half of what came; before that it would have been right."""
    found = of([1.0] * 32 + [2.0] * 32, 64)
    assert found == pytest.approx(math.log(2) / math.sqrt(4))


def test_a_young_run_has_none() -> None:
    """There is nothing to ask."""
    assert of([1.0, 5.0], 100) == 0
