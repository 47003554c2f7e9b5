"""The counted part of the benchmarks, which runs with every test because it needs no quiet machine."""

from __future__ import annotations

import pytest

from bench import counts
from bench.figures import Figure


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    return {figure.what: figure for figure in counts.measure()}


def test_what_can_be_counted_keeps_its_limits(figures):
    """`ls` and a poll load, open, call and hold no more than is allowed."""
    assert {name: figure.value for name, figure in figures.items() if not figure.kept} == {}


def test_the_counts_are_of_real_work(figures):
    """What was counted read a store and polled a machine: nothing of it is zero but what must be."""
    must = "modules of a watcher that it does not need"
    assert [name for name, figure in figures.items() if figure.value <= 0 and name != must] == []
