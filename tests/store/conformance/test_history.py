"""The history: numbered in the order of the commits, each event chained to the one before, never changed."""

from __future__ import annotations

import pytest

from dogwatch.errors import StoreError
from dogwatch.store.interface import Store
from dogwatch.store.rows import events, tick
from dogwatch.store.rows.events import EventRow
from tests.store.conformance.conftest import Start, heard
from tests.store.sample import NOW


def happened(store: Store, *texts: str) -> int:
    return tick.commit(store, tick.Tick(NOW, 1.0, events=tuple(tick.Event("job.state", text) for text in texts)))


def test_events_are_numbered_from_one_in_the_order_they_were_written(store: Store) -> None:
    """Whoever knows a number reads on from there."""
    assert (happened(store, "a", "b"), happened(store, "c")) == (2, 3)
    assert [(event["seq"], event["text"]) for event in events.read(store)] == [(1, "a"), (2, "b"), (3, "c")]
    assert [event["text"] for event in events.read(store, since=2)] == ["c"]


def test_processes_that_write_at_once_make_one_chain(store: Store, start: Start) -> None:
    """No number is lost, none is used twice, and each event is confirmed by the one before it."""
    writers = [start("register", 100 * n, 25) for n in range(4)]
    assert [heard(process) for process in writers] == ["registered"] * 4
    assert [event["seq"] for event in events.read(store)] == list(range(1, 101))
    assert store.damaged_events() == []


def test_the_chain_is_what_anybody_computes_from_the_rows(store: Store) -> None:
    """The same hashes in every database, so that a history can be moved from one to another."""
    happened(store, "a", "b", "c")
    with store.reading() as tx:
        rows, end = tx.rows(EventRow, "ORDER BY seq"), events.end_of(tx)
    before = events.GENESIS
    for row in rows:
        assert events.judge(row, row.seq - 1, before) is None
        assert events.judge(row, row.seq - 1, bytes(31) + b"x") is not None
        before = row.hash
    assert (end.seq, end.hash) == (3, before)


def test_an_event_is_never_removed(store: Store) -> None:
    """The store itself refuses."""
    happened(store, "a")
    with pytest.raises(StoreError), store.writing() as tx:
        tx.remove(EventRow, "WHERE seq = ?", 1)
    assert [event["text"] for event in events.read(store)] == ["a"]
