"""Whether a store is what it was when it was written: its pages, its seals, its tallies, its history."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from dogwatch.errors import StoreDamaged, StoreError
from dogwatch.store.rows import (
    cancellations,
    channels,
    cursors,
    events,
    findings,
    jobs,
    memories,
    notifications,
    places,
    readings,
    transfers,
)
from dogwatch.store.rows import watch as watches
from dogwatch.store.rows.events import EventRow
from dogwatch.store.sqlite import faults
from dogwatch.store.sqlite.schema import TALLIED
from dogwatch.store.sqlite.transaction import SealPrefixes, Transaction, add_up, intact, select, tally_of

if TYPE_CHECKING:
    from dogwatch.store.rows.row import Row

# In the order in which one may refer to another.
SEALED: tuple[type[Row], ...] = (
    *(places.PlaceRow, jobs.JobRow, findings.FindingRow, findings.SilenceRow, notifications.NotificationRow),
    *(channels.ChannelRow, channels.DeliveryRow, channels.MessageRow),
    *(watches.WatchRow, cursors.CursorRow, readings.ReadingRow, memories.MemoryRow),
    transfers.TransferRow,
    cancellations.CancellationRow,
)


def complaints(db: sqlite3.Connection, history: bool = True) -> list[str]:
    """Everything that is wrong, a sentence each; `history` walks every event, which takes its time."""
    wrong: list[str] = []
    try:
        wrong += [f"pages: {row[0]}" for row in db.execute("PRAGMA quick_check(20)") if row[0] != "ok"]
        for kind in SEALED:
            _check_rows(db, kind, wrong)
        if history:
            wrong += [f"events {first} to {last}: {why}" for first, last, why in damaged_events(db)]
        else:
            events.end_of(transaction(db))
    except faults.FAILURES as error:
        wrong.append(str(faults.translate(error, "the database")))
    except StoreError as error:
        wrong.append(str(error))
    return wrong


def transaction(db: sqlite3.Connection) -> Transaction:
    """What is read of a file that is not the store: a backup, a draft, what is left of a damaged one."""
    return Transaction(db, SealPrefixes())


def _check_rows(db: sqlite3.Connection, kind: type[Row], wrong: list[str]) -> None:
    for part in ("", *kind.PARTS) if kind.TABLE in TALLIED else ("",):
        seals = []
        for row in db.execute(select(kind) + (f"WHERE {kind.PARTS[part]}" if part else "")):
            if not intact(kind, row):
                wrong.append(f"{kind.TABLE}: row {row[0]} ({row[kind.LABEL]!a}) does not match its seal")
            seals.append(row[-1])
        if kind.TABLE in TALLIED:
            try:
                add_up(db, tally_of(kind, part), seals)
            except StoreError as error:
                wrong.append(str(error))


def damaged_events(db: sqlite3.Connection) -> list[tuple[int, int, str]]:
    """Every damaged range of the history, read as a stream: its first and last number, and why."""
    damage: list[tuple[int, int, str]] = []
    tx = transaction(db)
    seq, last = 0, events.GENESIS
    try:
        for row in tx.walk(EventRow, "ORDER BY seq"):
            why = events.judge(row, seq, last)
            if why == "missing":
                _note(damage, seq + 1, row.seq - 1, why)
            elif why:
                _note(damage, row.seq, row.seq, why)
            seq, last = row.seq, row.hash
    except faults.FAILURES as error:
        _note(damage, seq + 1, max(seq + 1, newest_known(db)), f"unreadable: {error}")
        return damage
    try:
        end = events.end_of(tx)
    except (StoreDamaged, *faults.FAILURES) as error:
        _note(damage, seq, seq, f"the end of the chain: {error}")
        return damage
    if end.seq > seq:
        _note(damage, seq + 1, end.seq, "missing at the end")
    elif (end.seq, end.hash) != (seq, last):
        _note(damage, end.seq, seq, "not what the end of the chain says")
    return damage


def newest_known(db: sqlite3.Connection) -> int:
    """The number of the newest event by the end of the chain; 0 when that cannot be read."""
    try:
        return events.end_of(transaction(db)).seq
    except (StoreDamaged, *faults.FAILURES):
        return 0


def _note(damage: list[tuple[int, int, str]], first: int, last: int, why: str) -> None:
    """Add a range, joined to the one before it where they touch for the same reason."""
    if damage and damage[-1][2] == why and damage[-1][1] + 1 >= first:
        first = damage.pop()[0]
    damage.append((first, last, why))
