"""Changing a few cells of a sealed row leaves the same row, seal and tally as writing it whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dogwatch.store import cells
from dogwatch.store.check import check
from dogwatch.store.jobs import cells_of, row_of
from dogwatch.store.tables import JOBS
from tests.store.sample import filled

REF = "here/process:1"


def test_an_amended_row_is_the_row_written_whole(home: Path) -> None:
    """With its seal and the tallies in step, an ended job no longer among the active."""
    store = filled(home)
    fresh: dict[str, Any] = {"native": "\x1a odd \0", "progress": {"step": 7}, "active": 0, "exit_code": None}
    with store.writing() as db:
        row = cells_of(db, REF)
        assert row is not None
        JOBS.amend(db, row, fresh)
        whole = row_of(db, REF)
    assert whole == {**JOBS.unpack(row), **fresh}
    assert check(store) == []


def test_a_row_that_does_not_differ_is_not_written(home: Path) -> None:
    """The same values again cost no page of the disk."""
    store = filled(home)
    with store.writing() as db:
        row = cells_of(db, REF)
        assert row is not None
        before = db.total_changes
        JOBS.amend(db, row, {name: value for name, value in JOBS.unpack(row).items() if name != "key"})
        assert db.total_changes == before


@pytest.mark.parametrize("rows", [[], [{"a": 1, "b": None}, {"a": "x", "b": 2}], [{"a": 1}, {"b": 1}], [{"a": 1}, {}]])
def test_folded_rows_come_back_as_they_were(rows: list[dict[str, Any]]) -> None:
    """Also those that do not share their keys."""
    assert cells.unfolded(cells.parse(cells.dump(cells.folded(rows)))) == rows
