"""Whether a store is what it was when it was written: its pages, its seals, its tallies, its history."""

from __future__ import annotations

import sqlite3

from dogwatch.errors import StoreError
from dogwatch.store import events, faults
from dogwatch.store.database import Store
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
    add_up,
)

ALERTS = (CHANNELS, NOTES, LETTERS, MESSAGES, SILENCES)
SEALED = (PLACES, JOBS, MEMORIES, FINDINGS, NOTICES, DELIVERIES, WATCH, CURSORS, *ALERTS, READINGS)
_OPEN_PARTS = (
    (JOBS, "jobs.open", "WHERE active = 1"),
    (FINDINGS, "findings.open", "WHERE resolved IS NULL"),
    (NOTICES, "notices.open", "WHERE done IS NULL"),
    (NOTES, "notes.open", "WHERE routed IS NULL"),
    (LETTERS, "letters.open", "WHERE state IN ('waiting', 'held')"),
    (MESSAGES, "messages.open", "WHERE state = 'open'"),
    (SILENCES, "silences.open", "WHERE ended IS NULL"),
)
_TALLIED = (PLACES, JOBS, FINDINGS, NOTICES, *ALERTS, READINGS)
_SINCE = {**{table: 2 for table in ALERTS}, READINGS: 3}  # the schema that brought it, if not the first


def check(store: Store, history: bool = True) -> list[str]:
    """Everything that is wrong with the store, a sentence each; empty when it is sound."""
    with store.reading() as db:
        return complaints(db, history)


def complaints(db: sqlite3.Connection, history: bool = True) -> list[str]:
    """The same on a bare connection; `history` walks every event, which takes its time."""
    wrong: list[str] = []
    try:
        wrong += [f"pages: {row[0]}" for row in db.execute("PRAGMA quick_check(20)") if row[0] != "ok"]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for table in SEALED:
            if version < _SINCE.get(table, 1):
                continue
            _check_rows(db, table, "", table.name if table in _TALLIED else None, wrong)
        for table, tally, where in _OPEN_PARTS:
            if version >= _SINCE.get(table, 1):
                _check_rows(db, table, where, tally, wrong)
        if history:
            wrong += [f"events {one['first']} to {one['last']}: {one['why']}" for one in events.verify_in(db)]
        else:
            events.end(db)
    except faults.FAILURES as error:
        wrong.append(str(faults.translate(error, "the database")))
    except StoreError as error:
        wrong.append(str(error))
    return wrong


def _check_rows(db: sqlite3.Connection, table: Table, where: str, tally: str | None, wrong: list[str]) -> None:
    seals = []
    for row in db.execute(table.select + where):
        if not table.sound(row):
            wrong.append(f"{table.name}: row {row[0]} ({row[table.label]!a}) does not match its seal")
        seals.append((row[-1],))
    if tally is not None:
        try:
            add_up(db, tally, seals)
        except StoreError as error:
            wrong.append(str(error))
