"""What a damaged database still proves: rows that match their seals, and events whose chain goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dogwatch.errors import StoreDamaged
from dogwatch.store import events, faults
from dogwatch.store.memories import remember
from dogwatch.store.tables import (
    CHANNELS,
    CURSORS,
    DELIVERIES,
    FINDINGS,
    JOBS,
    LETTERS,
    MEMORIES,
    MESSAGES,
    NOTES,
    NOTICES,
    PLACES,
    READINGS,
    SILENCES,
    WATCH,
    Table,
)

OLD_NOTICE_SECONDS = 3600.0
_FRESHNESS = {
    "jobs": ("registered", "since", "proved_at", "forgotten"),
    "places": ("looked_at",),
    "findings": ("opened", "resolved"),
    "notices": ("created", "done"),
    "deliveries": ("at",),
    "channels": ("added", "removed"),
    "notes": ("since", "routed"),
    "letters": ("due", "message"),
    "messages": ("tries", "settled"),
    "silences": ("created", "ended"),
    "cursors": ("seq",),
    "readings": ("at",),
    "watch": ("started", "last_tick", "stopped"),
}


@dataclass(slots=True)
class Saved:
    """How far the salvage came: the newest event kept, and what could not be read or proved."""

    jobs: int = 0
    events: int = 0
    last_seq: int = 0
    last_at: float | None = None
    newest_known: int = 0
    unsent: int = 0
    unreadable: list[str] = field(default_factory=list)


def fill(db: sqlite3.Connection, remains: sqlite3.Connection | None, now: float) -> Saved:
    """Add to a sound database (inside its transaction) whatever newer the remains still prove."""
    saved = Saved()
    if remains is None:
        saved.unreadable.append("the whole damaged database")
    else:
        for table in (PLACES, JOBS, FINDINGS, NOTICES, DELIVERIES, WATCH, CURSORS, *_later_in(remains)):
            taken = _take_rows(db, remains, table, saved)
            saved.jobs += taken if table is JOBS else 0
        _take_memories(db, remains, saved)
        _take_events(db, remains, saved)
        saved.newest_known = _newest_known(remains)
    _give_memories(db)
    db.execute("DELETE FROM readings WHERE job NOT IN (SELECT key FROM jobs WHERE forgotten IS NULL)")
    _retire_notices(db, now, saved)
    saved.last_seq, _ = events.end(db)
    row = db.execute("SELECT at FROM events WHERE seq = ?", (saved.last_seq,)).fetchone()
    saved.last_at = None if row is None else row[0]
    return saved


def _later_in(remains: sqlite3.Connection) -> tuple[Table, ...]:
    """The tables that came after the first schema, as far as a database has them."""
    try:
        known = {row[0] for row in remains.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except faults.FAILURES:
        known = {"channels", "readings"}
    alerts = (CHANNELS, NOTES, LETTERS, MESSAGES, SILENCES) if "channels" in known else ()
    return (*alerts, READINGS) if "readings" in known else alerts


def readable(remains: sqlite3.Connection, table: Table, saved: Saved) -> Iterator[tuple[Any, ...]]:
    """Every row that can be read and matches its seal, from both ends towards the damage."""
    seen: set[int | str] = set()
    for direction in ("ASC", "DESC"):
        try:
            for row in remains.execute(f"{table.select} NOT INDEXED ORDER BY {table.names[0]} {direction}"):
                if row[0] in seen:
                    continue
                seen.add(row[0])
                if table.sound(row):
                    yield row
                else:
                    saved.unreadable.append(f"row {row[0]} of {table.name}")
            return
        except faults.FAILURES:
            note = f"part of {table.name}"
            if note not in saved.unreadable:
                saved.unreadable.append(note)


def _take_rows(db: sqlite3.Connection, remains: sqlite3.Connection, table: Table, saved: Saved) -> int:
    taken = 0
    for raw in list(readable(remains, table, saved)):
        row = table.unpack(raw)
        held = db.execute(f"{table.select} WHERE {table.names[0]} = ?", (raw[0],)).fetchone()
        try:
            if held is None:
                db.execute(table.insert, raw)
            elif raw != held and _freshness(table, row) >= _freshness(table, table.unpack(held)):
                db.execute(table.update, (*raw, raw[0]))
            else:
                continue
        except sqlite3.IntegrityError:
            saved.unreadable.append(f"row {raw[0]} of {table.name}")
            continue
        taken += 1
    return taken


def _freshness(table: Table, row: dict[str, Any]) -> float:
    times: list[float] = [row[name] for name in _FRESHNESS[table.name] if row[name] is not None]
    return max(times, default=0.0)


def _take_memories(db: sqlite3.Connection, remains: sqlite3.Connection, saved: Saved) -> None:
    active = {row[0] for row in db.execute("SELECT key FROM jobs WHERE active = 1")}
    for raw in list(readable(remains, MEMORIES, saved)):
        if raw[0] in active:
            db.execute("DELETE FROM memories WHERE job = ?", (raw[0],))
            db.execute(MEMORIES.insert, raw)


def _give_memories(db: sqlite3.Connection) -> None:
    """Every active job has a memory; one whose memory is lost starts without, others need none."""
    db.execute("DELETE FROM memories WHERE job NOT IN (SELECT key FROM jobs WHERE active = 1)")
    bare = "SELECT key FROM jobs WHERE active = 1 AND key NOT IN (SELECT job FROM memories)"
    for (key,) in db.execute(bare).fetchall():
        remember(db, key, {})


def _take_events(db: sqlite3.Connection, remains: sqlite3.Connection, saved: Saved) -> None:
    """Events after the last one held, for as long as each is proved by the one before it."""
    seq, last = events.end(db)
    try:
        rows = remains.execute(f"SELECT {events.COLUMNS} FROM events WHERE seq > ? ORDER BY seq", (seq,))
        for row in rows:
            if events.judge(row, seq, last):
                break
            events.insert_raw(db, [row])
            seq, last = row[0], row[9]
            saved.events += 1
    except faults.FAILURES:
        saved.unreadable.append("part of events")
    events.move_end(db, seq, last)


def _newest_known(remains: sqlite3.Connection) -> int:
    try:
        return events.end(remains)[0]
    except (StoreDamaged, *faults.FAILURES):
        return 0


def _retire_notices(db: sqlite3.Connection, now: float, saved: Saved) -> None:
    """A notice that the backup still held as unsent, long after, was most likely sent: it is not repeated."""
    for raw in db.execute(NOTICES.select + "WHERE done IS NULL").fetchall():
        notice = NOTICES.unpack(raw)
        if notice["created"] < now - OLD_NOTICE_SECONDS:
            NOTICES.change(db, {**notice, "done": now})
            saved.unsent += 1
    for raw in db.execute(MESSAGES.select + "WHERE state = 'open'").fetchall():
        message = MESSAGES.unpack(raw)
        if message["created"] < now - OLD_NOTICE_SECONDS:
            fresh = {"state": "dead", "detail": "most likely sent before the store was damaged", "settled": now}
            MESSAGES.change(db, {**message, **fresh})
            saved.unsent += 1
    for raw in db.execute(LETTERS.select + "WHERE state IN ('waiting', 'held')").fetchall():
        letter = LETTERS.unpack(raw)
        if letter["due"] < now - OLD_NOTICE_SECONDS:
            fresh = {"state": "dropped", "reason": "most likely sent before the store was damaged"}
            LETTERS.change(db, {**letter, **fresh})
    for raw in db.execute(NOTES.select + "WHERE routed IS NULL").fetchall():
        note = NOTES.unpack(raw)
        if note["since"] < now - OLD_NOTICE_SECONDS:
            NOTES.change(db, {**note, "routed": now})
