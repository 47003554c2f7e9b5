"""Alerts: channels, what each notice is about, one letter for each channel, messages, silences."""

from __future__ import annotations

import sqlite3

_TABLES = (
    """CREATE TABLE channels (
        key INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, settings TEXT NOT NULL, route TEXT NOT NULL,
        added REAL NOT NULL, after INTEGER NOT NULL, removed REAL, seal INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX channels_used ON channels (name) WHERE removed IS NULL""",
    """CREATE TABLE notes (
        notice INTEGER PRIMARY KEY REFERENCES notices (id), rule TEXT NOT NULL, what TEXT NOT NULL, since REAL NOT NULL,
        resolved INTEGER NOT NULL, why TEXT NOT NULL, remedy TEXT NOT NULL, routed REAL, seal INTEGER NOT NULL)""",
    """CREATE INDEX notices_of_subject ON notices (subject, created)""",
    """CREATE INDEX notes_open ON notes (notice) WHERE routed IS NULL""",
    """CREATE INDEX notes_of_rule ON notes (rule, what)""",
    """CREATE TABLE letters (
        key INTEGER PRIMARY KEY, notice INTEGER NOT NULL REFERENCES notices (id), channel TEXT NOT NULL,
        state TEXT NOT NULL, reason TEXT NOT NULL, due REAL NOT NULL, message INTEGER, seal INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX letters_once ON letters (notice, channel)""",
    """CREATE INDEX letters_open ON letters (channel) WHERE state IN ('waiting', 'held')""",
    """CREATE INDEX letters_of_message ON letters (message) WHERE message IS NOT NULL""",
    """CREATE TABLE messages (
        key INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, state TEXT NOT NULL,
        created REAL NOT NULL, due REAL NOT NULL, tries INTEGER NOT NULL, detail TEXT NOT NULL, settled REAL,
        seal INTEGER NOT NULL)""",
    """CREATE INDEX messages_open ON messages (key) WHERE state = 'open'""",
    """CREATE TABLE silences (
        key INTEGER PRIMARY KEY, subject TEXT NOT NULL, rule TEXT NOT NULL, what TEXT, until REAL, why TEXT NOT NULL,
        created REAL NOT NULL, ended REAL, seal INTEGER NOT NULL)""",
)
_TALLIED = (
    ("channels", None),
    ("notes", "{}.routed IS NULL"),
    ("letters", "{}.state IN ('waiting', 'held')"),
    ("messages", "{}.state = 'open'"),
    ("silences", "{}.ended IS NULL"),
)


def up(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    for table, part in _TALLIED:
        _tally(db, table, table, "1")
        if part is not None:
            _tally(db, table, f"{table}.open", part)


def _tally(db: sqlite3.Connection, table: str, name: str, part: str) -> None:
    """As in m001: the number and the sum of the seals of the rows for which `part` holds."""
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
