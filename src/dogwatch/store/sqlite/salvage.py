"""What a damaged database still proves: rows that match their seals, and events whose chain goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dogwatch.store.rows import events, memories
from dogwatch.store.rows.channels import DEAD, DROPPED, DeliveryRow, MessageRow
from dogwatch.store.rows.events import EventRow
from dogwatch.store.rows.jobs import JobRow
from dogwatch.store.rows.memories import MemoryRow
from dogwatch.store.rows.notifications import NotificationRow
from dogwatch.store.rows.readings import ReadingRow
from dogwatch.store.sqlite import faults
from dogwatch.store.sqlite.check import SEALED, newest_known, transaction
from dogwatch.store.sqlite.transaction import intact, select

if TYPE_CHECKING:
    from dogwatch.store.rows.row import Row
    from dogwatch.store.sqlite.transaction import Transaction

OLD_SECONDS = 3600.0
_FRESHNESS = {
    "jobs": ("registered", "since", "confirmed_at", "forgotten"),
    "places": ("polled_at",),
    "findings": ("opened", "resolved"),
    "notifications": ("created", "routed"),
    "channels": ("added", "removed"),
    "deliveries": ("due", "message"),
    "messages": ("tries", "settled"),
    "silences": ("created", "ended"),
    "cursors": ("seq",),
    "readings": ("at",),
    "watch": ("started", "last_tick", "stopped"),
    "transfers": ("updated", "ended"),
    "cancellations": ("at",),
}


@dataclass(slots=True)
class Saved:
    """How far the salvage came: the newest event kept, and what could not be read or confirmed."""

    jobs: int = 0
    events: int = 0
    last_seq: int = 0
    last_at: float | None = None
    newest_known: int = 0
    unsent: int = 0
    unreadable: list[str] = field(default_factory=list)


def fill(db: sqlite3.Connection, remains: sqlite3.Connection | None, now: float) -> Saved:
    """Add to an intact database (inside its transaction) whatever newer the remains still prove."""
    saved, tx = Saved(), transaction(db)
    if remains is None:
        saved.unreadable.append("the whole damaged database")
    else:
        for kind in SEALED:
            if kind is not MemoryRow:
                taken = _take_rows(tx, remains, kind, saved)
                saved.jobs += taken if kind is JobRow else 0
        _take_memories(tx, remains, saved)
        _take_events(tx, remains, saved)
        saved.newest_known = newest_known(remains)
    _give_memories(tx)
    tx.remove(ReadingRow, "WHERE job NOT IN (SELECT key FROM jobs WHERE forgotten IS NULL)")
    _retire_old(tx, now, saved)
    saved.last_seq = events.end_of(tx).seq
    last = tx.row(EventRow, "WHERE seq = ?", saved.last_seq)
    saved.last_at = None if last is None else last.at
    return saved


def readable(remains: sqlite3.Connection, kind: type[Row], saved: Saved) -> Iterator[Row]:
    """Every row that can be read and matches its seal, from both ends towards the damage."""
    seen: set[int | str] = set()
    for direction in ("ASC", "DESC"):
        try:
            for raw in remains.execute(f"{select(kind)} NOT INDEXED ORDER BY {kind.KEY} {direction}"):
                if raw[0] in seen:
                    continue
                seen.add(raw[0])
                if intact(kind, raw):
                    yield kind.of(raw[:-1])
                else:
                    saved.unreadable.append(f"row {raw[0]} of {kind.TABLE}")
            return
        except faults.FAILURES:
            note = f"part of {kind.TABLE}"
            if note not in saved.unreadable:
                saved.unreadable.append(note)


def _take_rows(tx: Transaction, remains: sqlite3.Connection, kind: type[Row], saved: Saved) -> int:
    taken = 0
    for row in list(readable(remains, kind, saved)):
        held = tx.row(kind, f"WHERE {kind.KEY} = ?", row.cells[0])
        try:
            if held is None:
                tx.insert(row)
            elif row != held and _freshness(row) >= _freshness(held):
                tx.change(held, **{name: getattr(row, name) for name in row.NAMES})
            else:
                continue
        except sqlite3.IntegrityError:
            saved.unreadable.append(f"row {row.cells[0]} of {kind.TABLE}")
            continue
        taken += 1
    return taken


def _freshness(row: Row) -> float:
    times = (getattr(row, name) for name in _FRESHNESS[row.TABLE])
    return max((float(time) for time in times if time is not None), default=0.0)


def _take_memories(tx: Transaction, remains: sqlite3.Connection, saved: Saved) -> None:
    active = {key for (key,) in tx.query("SELECT key FROM jobs WHERE active = 1")}
    tx.put(row for row in list(readable(remains, MemoryRow, saved)) if row.cells[0] in active)


def _give_memories(tx: Transaction) -> None:
    """Every active job has a memory; one whose memory is lost starts without, others need none."""
    tx.remove(MemoryRow, "WHERE job NOT IN (SELECT key FROM jobs WHERE active = 1)")
    bare = "SELECT key FROM jobs WHERE active = 1 AND key NOT IN (SELECT job FROM memories)"
    memories.remember(tx, {key: {} for (key,) in tx.query(bare)})


def _take_events(tx: Transaction, remains: sqlite3.Connection, saved: Saved) -> None:
    """Events after the last one held, for as long as each is confirmed by the one before it."""
    end = events.end_of(tx)
    seq, last = end.seq, end.hash
    try:
        for row in transaction(remains).walk(EventRow, "WHERE seq > ? ORDER BY seq", seq):
            if events.judge(row, seq, last):
                break
            tx.insert(row)
            seq, last = row.seq, row.hash
            saved.events += 1
    except faults.FAILURES:
        saved.unreadable.append("part of events")
    tx.change(end, seq=seq, hash=last)


def _retire_old(tx: Transaction, now: float, saved: Saved) -> None:
    """What the backup still held as unsent, long after, was most likely sent: it is not repeated."""
    why, old = "most likely sent before the store was damaged", now - OLD_SECONDS
    for message in tx.rows(MessageRow, "WHERE state = 'open' AND created < ?", old):
        tx.change(message, state=DEAD, detail=why, settled=now)
        saved.unsent += 1
    for delivery in tx.rows(DeliveryRow, "WHERE state IN ('waiting', 'held') AND due < ?", old):
        tx.change(delivery, state=DROPPED, reason=why)
    for notification in tx.rows(NotificationRow, "WHERE routed IS NULL AND created < ?", old):
        tx.change(notification, routed=now)
        saved.unsent += 1
