"""The schema: what the rows of `store/rows` look like in SQLite, with the triggers that keep their tallies."""

from __future__ import annotations

import sqlite3
import zlib

_TABLES = (
    """CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL)""",
    """CREATE TABLE tallies (
        name TEXT PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE places (
        key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, transport TEXT NOT NULL,
        floor REAL NOT NULL, polled_at REAL, answered_at REAL, unreachable_since REAL, unreachable_why TEXT,
        polls INTEGER NOT NULL, failed_polls INTEGER NOT NULL, facts TEXT NOT NULL, seal INTEGER NOT NULL)""",
    # What moves at every poll stands last: a seal is then the known checksum of what is before, and a little more.
    """CREATE TABLE jobs (
        key INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, place TEXT NOT NULL REFERENCES places (name),
        source TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
        submitted REAL, registered REAL NOT NULL, track TEXT NOT NULL, expect TEXT NOT NULL,
        active INTEGER NOT NULL, forgotten REAL, state TEXT, state_facts TEXT, outcome TEXT,
        native TEXT NOT NULL, reason TEXT NOT NULL, exit_code INTEGER, signal INTEGER,
        attempts INTEGER NOT NULL, attempt TEXT NOT NULL, since REAL, started REAL,
        progress TEXT, eta TEXT, diagnosis TEXT, detail TEXT NOT NULL, confirmed_at REAL, evidence TEXT NOT NULL,
        seal INTEGER NOT NULL, UNIQUE (place, source, id, submitted))""",
    """CREATE INDEX jobs_active ON jobs (key) WHERE active = 1""",
    """CREATE TABLE memories (job INTEGER PRIMARY KEY REFERENCES jobs (key), body TEXT NOT NULL,
        seal INTEGER NOT NULL)""",
    """CREATE TABLE readings (
        key INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES jobs (key), at REAL NOT NULL, body TEXT NOT NULL,
        seal INTEGER NOT NULL)""",
    """CREATE INDEX readings_of_job ON readings (job, key)""",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, mono REAL NOT NULL, kind TEXT NOT NULL,
        ref TEXT, place TEXT, level TEXT NOT NULL, text TEXT NOT NULL, body TEXT NOT NULL,
        hash BLOB NOT NULL)""",
    """CREATE INDEX events_of_ref ON events (ref, seq) WHERE ref IS NOT NULL""",
    """CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END""",
    """CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END""",
    """CREATE TABLE chain (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL,
        hash BLOB NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE TABLE findings (
        key INTEGER PRIMARY KEY, subject TEXT NOT NULL, rule TEXT NOT NULL, what TEXT NOT NULL,
        level TEXT NOT NULL, text TEXT NOT NULL, opened REAL NOT NULL, resolved REAL,
        lasting INTEGER NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX findings_open ON findings (subject, rule, what) WHERE resolved IS NULL""",
    """CREATE TABLE silences (
        key INTEGER PRIMARY KEY, subject TEXT NOT NULL, rule TEXT NOT NULL, what TEXT, until REAL, why TEXT NOT NULL,
        created REAL NOT NULL, ended REAL, seal INTEGER NOT NULL)""",
    """CREATE TABLE notifications (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, rule TEXT NOT NULL,
        what TEXT NOT NULL, level TEXT NOT NULL, text TEXT NOT NULL, why TEXT NOT NULL, remedy TEXT NOT NULL,
        since REAL NOT NULL, resolved INTEGER NOT NULL, created REAL NOT NULL, routed REAL,
        seal INTEGER NOT NULL)""",
    """CREATE INDEX notifications_unrouted ON notifications (id) WHERE routed IS NULL""",
    """CREATE INDEX notifications_of_subject ON notifications (subject, created)""",
    """CREATE INDEX notifications_of_rule ON notifications (rule, what)""",
    """CREATE TABLE channels (
        key INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, settings TEXT NOT NULL, route TEXT NOT NULL,
        added REAL NOT NULL, after INTEGER NOT NULL, removed REAL, seal INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX channels_used ON channels (name) WHERE removed IS NULL""",
    """CREATE TABLE deliveries (
        key INTEGER PRIMARY KEY, notification INTEGER NOT NULL REFERENCES notifications (id), channel TEXT NOT NULL,
        state TEXT NOT NULL, reason TEXT NOT NULL, due REAL NOT NULL, message INTEGER, seal INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX deliveries_once ON deliveries (notification, channel)""",
    """CREATE INDEX deliveries_open ON deliveries (channel) WHERE state IN ('waiting', 'held')""",
    """CREATE INDEX deliveries_of_message ON deliveries (message) WHERE message IS NOT NULL""",
    """CREATE TABLE messages (
        key INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, state TEXT NOT NULL,
        created REAL NOT NULL, due REAL NOT NULL, tries INTEGER NOT NULL, detail TEXT NOT NULL, settled REAL,
        seal INTEGER NOT NULL)""",
    """CREATE INDEX messages_open ON messages (key) WHERE state = 'open'""",
    """CREATE TABLE watch (
        one INTEGER PRIMARY KEY CHECK (one = 1), who TEXT NOT NULL, started REAL NOT NULL, last_tick REAL,
        last_mono REAL, boot TEXT NOT NULL, stopped REAL, seal INTEGER NOT NULL)""",
    """CREATE TABLE transfers (
        key INTEGER PRIMARY KEY, ref TEXT NOT NULL, place TEXT NOT NULL, state TEXT NOT NULL, source TEXT NOT NULL,
        target TEXT NOT NULL, started REAL NOT NULL, updated REAL NOT NULL, ended REAL, files INTEGER NOT NULL,
        bytes INTEGER NOT NULL, done_files INTEGER NOT NULL, done_bytes INTEGER NOT NULL, way TEXT NOT NULL,
        process TEXT, detail TEXT NOT NULL, found TEXT NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE INDEX transfers_of_ref ON transfers (ref, key)""",
    """CREATE TABLE cancellations (
        key INTEGER PRIMARY KEY, ref TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL,
        detail TEXT NOT NULL, seal INTEGER NOT NULL)""",
    """CREATE TABLE cursors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL, seal INTEGER NOT NULL)""",
)

# Each table with a tally, and the parts of it that have one of their own.
TALLIED: dict[str, dict[str, str]] = {
    "places": {},
    "jobs": {"active": "{}.active = 1"},
    "readings": {},
    "findings": {"open": "{}.resolved IS NULL"},
    "silences": {"open": "{}.ended IS NULL"},
    "notifications": {"unrouted": "{}.routed IS NULL"},
    "channels": {},
    "deliveries": {"open": "{}.state IN ('waiting', 'held')"},
    "messages": {"open": "{}.state = 'open'"},
    "transfers": {},
    "cancellations": {},
}


def create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    db.execute("INSERT INTO tallies VALUES ('commits', 1, 0)")
    for table, parts in TALLIED.items():
        _tally(db, table, table, "1")
        for part, condition in parts.items():
            _tally(db, table, f"{table}.{part}", condition)
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
