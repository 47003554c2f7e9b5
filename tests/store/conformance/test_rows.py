"""Rows come back as they were written, by key, by label, by part, and counted."""

from __future__ import annotations

import pytest

from dogwatch.errors import StoreError
from dogwatch.store.interface import Store
from dogwatch.store.rows.cursors import CursorRow
from dogwatch.store.rows.findings import SilenceRow
from dogwatch.store.rows.jobs import JobRow
from dogwatch.store.rows.places import PlaceRow
from dogwatch.store.rows.readings import ReadingRow
from dogwatch.store.rows.registration import register
from tests.store.sample import NOW, job

HOSTILE = ["", "plain", "\0", "\ud800 alone", "\x1a marked", "\x1b[31mred", "'; DROP TABLE jobs; --", "é" * 70_000]


def silence(why: str = "", **more: object) -> SilenceRow:
    told = {"subject": "s", "rule": "r", "what": None, "until": None, "created": NOW, "why": why}
    return SilenceRow(**{**told, **more})  # type: ignore[arg-type]


def measured(store: Store, job: int) -> None:
    with store.writing() as tx:
        tx.put([CursorRow(name="a", seq=1)])
        tx.add(ReadingRow(job=job, at=NOW, body={}))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_comes_back_to_the_character(store: Store, text: str) -> None:
    """Where it is a column, where it is asked for, and inside JSON."""
    with store.writing() as tx:
        key = tx.add(silence(text))
        tx.add(PlaceRow(name=text + "!", kind="ssh", transport={"ssh": text}, floor=1.0, facts={}))
    with store.reading() as tx:
        (row,) = tx.rows(SilenceRow, "WHERE why = ?", text)
        place = tx.find(PlaceRow, text + "!")
        assert tx.query("SELECT why FROM silences") == [(text,)]
    assert (row.key, row.why, row.what, row.until) == (key, text, None, None)
    assert place is not None
    assert place.transport == {"ssh": text}


def test_each_new_row_has_the_next_key(store: Store) -> None:
    """Also those of later transactions."""
    with store.writing() as tx:
        keys = [tx.add(silence()) for _ in range(3)]
    with store.writing() as tx:
        keys.append(tx.add(silence()))
        assert tx.newest_key(SilenceRow) == keys[-1]
    assert keys == sorted(set(keys))


def test_a_change_touches_the_columns_that_it_names(store: Store) -> None:
    """And takes a row out of a part whose condition it no longer meets."""
    with store.writing() as tx:
        first, second = tx.add(silence("one")), tx.add(silence("two"))
        row = tx.row(SilenceRow, "WHERE key = ?", first)
        assert row is not None
        tx.change(row, ended=NOW)
    with store.reading() as tx:
        assert [(row.key, row.why) for row in tx.every(SilenceRow)] == [(first, "one"), (second, "two")]
        assert [row.key for row in tx.every(SilenceRow, "open")] == [second]
        assert tx.counts((SilenceRow, ""), (SilenceRow, "open")) == [2, 1]


def test_a_row_that_is_put_takes_the_place_of_its_key(store: Store) -> None:
    """And is gone when it is removed."""
    with store.writing() as tx:
        tx.put([CursorRow(name="a", seq=1), CursorRow(name="b", seq=1)])
        tx.put([CursorRow(name="a", seq=2)])
    with store.writing() as tx:
        assert [(row.name, row.seq) for row in tx.rows(CursorRow, "ORDER BY name")] == [("a", 2), ("b", 1)]
        tx.remove(CursorRow, "WHERE name = ?", "a")
        assert [row.name for row in tx.walk(CursorRow, "ORDER BY name")] == ["b"]
        assert tx.row(CursorRow, "WHERE name = ?", "a") is None


def test_the_last_columns_of_many_rows_change_at_once(store: Store) -> None:
    """By label, unless something forbids it; time after time, and beside other changes of the same rows."""
    for number in range(40):
        register(store, job(number), NOW, 1.0)
    refs = [job(number).ref for number in range(40)]
    for at in (NOW + 1, NOW + 2, NOW + 3):
        with store.writing() as tx:
            one = tx.find(JobRow, refs[0])
            assert one is not None
            tx.change(one, forgotten=at if at == NOW + 3 else None, description=f"at {at}")
            keys = tx.change_last(JobRow, dict.fromkeys([*refs, "nobody"], (at, [at])), unless="forgotten")
            assert set(keys) == set(refs if at < NOW + 3 else refs[1:])
    with store.reading() as tx:
        rows = {row.ref: row for row in tx.every(JobRow)}
    assert {row.key for row in rows.values()} >= set(keys.values())
    assert {(row.confirmed_at, tuple(row.evidence)) for ref, row in rows.items() if ref != refs[0]} == {
        (NOW + 3, (NOW + 3,))
    }
    assert (rows[refs[0]].confirmed_at, rows[refs[0]].description) == (NOW + 2, f"at {NOW + 3}")


def test_the_database_reads_values_out_of_json(store: Store) -> None:
    """A number, a text, what lies deeper, and nothing where there is nothing."""
    with store.writing() as tx:
        facts = {"n": 1.5, "deep": {"er": "text"}, "yes": True}
        tx.add(PlaceRow(name="lab", kind="ssh", transport={}, floor=1.0, facts=facts))
    with store.reading() as tx:
        found = tx.extracts(PlaceRow, ("facts.n", "facts.deep.er", "facts.yes", "facts.no"))
    (values,) = (values for row, values in found if row.name == "lab")
    assert values[:2] == (1.5, "text")
    assert values[2]
    assert values[3] is None


def test_a_row_that_refers_to_nothing_is_refused(store: Store) -> None:
    """And nothing of its transaction is kept."""
    with pytest.raises(StoreError):
        measured(store, 4711)
    with store.reading() as tx:
        assert tx.rows(CursorRow) == []
