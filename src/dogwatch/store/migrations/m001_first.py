"""The first schema."""

from __future__ import annotations

import sqlite3
import zlib

_TABLES = (
    """CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL)""",
    """CREATE TABLE tallies (
        name TEXT PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE places (
        key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, reach TEXT NOT NULL,
        floor REAL NOT NULL, looked_at REAL, seen_at REAL, dark_since REAL, dark_why TEXT,
        looks INTEGER NOT NULL, dark_looks INTEGER NOT NULL, facts TEXT NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE TABLE jobs (
        key INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, place TEXT NOT NULL REFERENCES places (name),
        source TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
        submitted REAL, registered REAL NOT NULL, track TEXT NOT NULL, expect TEXT NOT NULL,
        active INTEGER NOT NULL, forgotten REAL, state TEXT, state_facts TEXT, outcome TEXT,
        native TEXT NOT NULL, reason TEXT NOT NULL, exit_code INTEGER, signal INTEGER,
        attempts INTEGER NOT NULL, attempt TEXT NOT NULL, since REAL, proved_at REAL, started REAL,
        proof TEXT NOT NULL, progress TEXT, eta TEXT, diagnosis TEXT, detail TEXT NOT NULL,
        seal INTEGER NOT NULL, UNIQUE (place, source, id, submitted))""",
    """CREATE INDEX jobs_active ON jobs (key) WHERE active = 1""",
    """CREATE TABLE memories (job INTEGER PRIMARY KEY REFERENCES jobs (key), body TEXT NOT NULL,
        seal INTEGER NOT NULL)""",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, mono REAL NOT NULL, kind TEXT NOT NULL,
        ref TEXT, place TEXT, level TEXT NOT NULL, text TEXT NOT NULL, body TEXT NOT NULL,
        hash BLOB NOT NULL)""",
    """CREATE INDEX events_of_ref ON events (ref, seq) WHERE ref IS NOT NULL""",
    """CREATE TABLE chain (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL,
        hash BLOB NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE TABLE findings (
        key INTEGER PRIMARY KEY, subject TEXT NOT NULL, rule TEXT NOT NULL, what TEXT NOT NULL,
        level TEXT NOT NULL, text TEXT NOT NULL, opened REAL NOT NULL, resolved REAL,
        lasting INTEGER NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX findings_open ON findings (subject, rule, what) WHERE resolved IS NULL""",
    """CREATE TABLE notices (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, level TEXT NOT NULL,
        text TEXT NOT NULL, created REAL NOT NULL, done REAL, seal INTEGER NOT NULL)""",
    """CREATE INDEX notices_queued ON notices (id) WHERE done IS NULL""",
    """CREATE TABLE deliveries (
        key INTEGER PRIMARY KEY, notice INTEGER NOT NULL REFERENCES notices (id), channel TEXT NOT NULL,
        at REAL NOT NULL, ok INTEGER NOT NULL, detail TEXT NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE TABLE watch (
        one INTEGER PRIMARY KEY CHECK (one = 1), who TEXT NOT NULL, started REAL NOT NULL, last_tick REAL,
        last_mono REAL, boot TEXT NOT NULL, stopped REAL, seal INTEGER NOT NULL)""",
    """CREATE TABLE cursors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END""",
    """CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END""",
)

# Each sealed table, with the condition for the open part of it that gets a tally of its own.
_TALLIED = (
    ("places", None),
    ("jobs", "{}.active = 1"),
    ("findings", "{}.resolved IS NULL"),
    ("notices", "{}.done IS NULL"),
)


def up(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    db.execute("INSERT INTO tallies VALUES ('commits', 1, 0)")
    for table, part in _TALLIED:
        _tally(db, table, table, "1")
        if part is not None:
            _tally(db, table, f"{table}.open", part)
    nothing = (1, 0, bytes(32))
    db.execute("INSERT INTO chain VALUES (?, ?, ?, ?)", (*nothing, _seal(nothing)))
    here = (1, "here", "here", "{}", 1.0, None, None, None, None, 0, 0, "{}")
    db.execute(f"INSERT INTO places VALUES ({', '.join('?' * 13)})", (*here, _seal(here)))


def _tally(db: sqlite3.Connection, table: str, name: str, part: str) -> None:
    """Triggers that keep the number and the sum of the seals of the rows for which `part` holds."""
    old, new = f"({part.format('OLD')})", f"({part.format('NEW')})"
    label = name.replace(".", "_")
    db.execute("INSERT INTO tallies VALUES (?, 0, 0)", (name,))
    for when, rows, total in (
        ("INSERT", f"+ {new}", f"+ {new} * NEW.seal"),
        ("UPDATE", f"- {old} + {new}", f"- {old} * OLD.seal + {new} * NEW.seal"),
        ("DELETE", f"- {old}", f"- {old} * OLD.seal"),
    ):
        db.execute(
            f"CREATE TRIGGER tally_{label}_{when.lower()} AFTER {when} ON {table} BEGIN "
            f"UPDATE tallies SET rows = rows {rows}, total = total {total} WHERE name = '{name}'; END"
        )


def _seal(values: tuple[object, ...]) -> int:
    return zlib.crc32(ascii(values).encode("ascii"))
