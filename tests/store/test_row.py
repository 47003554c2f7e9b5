"""Changing a few cells of a sealed row leaves the same row, seal and tally as writing it whole."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from dogwatch.store.rows.encoding import decode_json, encode_json
from dogwatch.store.rows.findings import SilenceRow
from dogwatch.store.rows.jobs import JobRow, folded, unfolded
from dogwatch.store.sqlite.check import SEALED
from tests.store.sample import filled

REF = "here/process:1"


def values(row: JobRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.NAMES}


def test_a_changed_row_is_the_row_written_whole(home: Path) -> None:
    """With its seal and the tallies in step, an ended job no longer among the active."""
    store = filled(home)
    fresh: dict[str, Any] = {"native": "\x1a odd \0", "progress": {"step": 7}, "active": 0, "exit_code": None}
    with store.writing() as tx:
        row = tx.find(JobRow, REF)
        assert row is not None
        tx.change(row, **fresh)
        whole = tx.find(JobRow, REF)
    assert whole is not None
    assert values(whole) == {**values(row), **fresh}
    assert store.check() == []


def test_a_row_that_does_not_differ_is_not_written(home: Path) -> None:
    """The same values again cost no page of the disk."""
    store = filled(home)
    with store.writing() as tx:
        row = tx.find(JobRow, REF)
        assert row is not None
        before = tx.db.total_changes
        tx.change(row, **values(row))
        assert tx.db.total_changes == before


def test_a_row_is_made_of_its_columns_and_nothing_else() -> None:
    """A misspelt or missing column is a bug that shows where the row is made."""
    told: dict[str, Any] = {"subject": "s", "rule": "", "what": None, "until": None, "why": "", "created": 1.0}
    assert SilenceRow(**told) == SilenceRow(**told)
    assert SilenceRow(**told) != SilenceRow(**{**told, "why": "because"})
    with pytest.raises(TypeError, match="silences has no column whatever"):
        SilenceRow(**{**told, "whatever": 1})
    with pytest.raises(KeyError):
        SilenceRow(subject="s")  # type: ignore[call-arg]


def test_every_table_has_the_columns_of_its_row(home: Path) -> None:
    """And every table is one whose rows the check proves."""
    db = filled(home).db
    for kind in SEALED:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({kind.TABLE})")]
        assert columns == [*kind.NAMES, "seal"], inspect.getfile(kind)
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables - {kind.TABLE for kind in SEALED} == {"migrations", "tallies", "events", "chain", "sqlite_sequence"}


@pytest.mark.parametrize("rows", [[], [{"a": 1, "b": None}, {"a": "x", "b": 2}], [{"a": 1}, {"b": 1}], [{"a": 1}, {}]])
def test_folded_rows_come_back_as_they_were(rows: Any) -> None:
    """Also those that do not share their keys."""
    assert unfolded(decode_json(encode_json(folded(rows)))) == rows
