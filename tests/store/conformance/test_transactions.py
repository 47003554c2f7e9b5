"""A transaction is kept as a whole or not at all, and readers see only whole ones."""

from __future__ import annotations

import signal

import pytest

from dogwatch.errors import UsageError
from dogwatch.store.interface import Store
from dogwatch.store.rows import cursors
from dogwatch.store.rows.cursors import CursorRow
from tests.store.conformance.conftest import Start, heard, told
from tests.store.conformance.stores import opened


def broken_off(store: Store) -> None:
    with store.writing() as tx:
        tx.put([CursorRow(name="a", seq=1)])
        raise UsageError("no")


def test_what_was_committed_is_there_for_every_process(store: Store, start: Start) -> None:
    """As soon as the block has ended, and after the writer is gone."""
    assert heard(start("write", "a", 7)) == "committed"
    assert cursors.read(store, "a") == 7


def test_a_block_that_raises_leaves_nothing(store: Store) -> None:
    """Whatever it had written, and whatever it raised."""
    with pytest.raises(UsageError):
        broken_off(store)
    assert cursors.read(store, "a") == 0
    cursors.write(store, "a", 2)
    assert cursors.read(store, "a") == 2


def test_a_writer_killed_in_the_middle_leaves_nothing_and_holds_up_nobody(store: Store, start: Start) -> None:
    """SIGKILL, with half of the transaction written."""
    cursors.write(store, "before", 1)
    writer = start("half")
    assert heard(writer) == "written"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert cursors.names(store, "") == ["before"]
    cursors.write(store, "after", 1)
    assert cursors.names(store, "") == ["after", "before"]


def test_nobody_sees_a_transaction_before_it_is_committed(store: Store, start: Start) -> None:
    """And nobody who only reads waits for it."""
    writer = start("half")
    assert heard(writer) == "written"
    assert cursors.names(store, "") == []
    told(writer)
    writer.wait()
    assert cursors.names(store, "") == ["half", "half again"]


def test_a_reader_sees_one_moment(store: Store, start: Start) -> None:
    """What is committed while it reads is for its next reading, and the writer does not wait for it."""
    cursors.write(store, "a", 1)
    with store.reading():
        assert cursors.read(store, "a") == 1
        assert heard(start("write", "a", 2)) == "committed"
        assert cursors.read(store, "a") == 1
    assert cursors.read(store, "a") == 2


def test_reading_inside_writing_sees_what_was_written(store: Store) -> None:
    """It is the same transaction."""
    with store.writing() as tx:
        tx.put([CursorRow(name="a", seq=3)])
        assert cursors.read(store, "a") == 3


def test_writers_take_turns(store: Store, start: Start) -> None:
    """Four processes count to two hundred together: no step is lost, and none is taken twice."""
    counting = [start("count", 50) for _ in range(4)]
    assert [heard(process) for process in counting] == ["counted"] * 4
    assert cursors.read(store, "counted") == 200


def test_the_revision_moves_with_each_commit_and_only_then(store: Store, start: Start, name: str) -> None:
    """Ours, and that of another process; not with reading, and not with what was rolled back."""
    first = store.revision()
    cursors.read(store, "a")
    with pytest.raises(UsageError):
        broken_off(store)
    assert store.revision() == first
    cursors.write(store, "a", 1)
    second = store.revision()
    assert second > first
    assert heard(start("write", "a", 2)) == "committed"
    assert store.revision() > second
    with opened(name) as other:
        assert other.revision() == store.revision()


def test_the_revision_of_others_does_not_move_by_our_own_commits(store: Store, start: Start) -> None:
    """Whoever holds in memory what it wrote itself need not read it back."""
    before = store.revision_of_others()
    cursors.write(store, "a", 1)
    assert store.revision_of_others() == before
    assert heard(start("write", "a", 2)) == "committed"
    after = store.revision_of_others()
    assert after != before
    assert store.revision_of_others() == after
