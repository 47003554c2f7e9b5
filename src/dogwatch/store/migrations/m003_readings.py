"""Readings: what was measured of a job, from time to time."""

from __future__ import annotations

import sqlite3

_TABLES = (
    """CREATE TABLE readings (
        key INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES jobs (key), at REAL NOT NULL, body TEXT NOT NULL,
        seal INTEGER NOT NULL)""",
    """CREATE INDEX readings_of_job ON readings (job, key)""",
    """INSERT INTO tallies VALUES ('readings', 0, 0)""",
    """CREATE TRIGGER tally_readings_insert AFTER INSERT ON readings BEGIN
        UPDATE tallies SET rows = rows + 1, total = total + NEW.seal WHERE name = 'readings'; END""",
    """CREATE TRIGGER tally_readings_update AFTER UPDATE ON readings BEGIN
        UPDATE tallies SET total = total - OLD.seal + NEW.seal WHERE name = 'readings'; END""",
    """CREATE TRIGGER tally_readings_delete AFTER DELETE ON readings BEGIN
        UPDATE tallies SET rows = rows - 1, total = total - OLD.seal WHERE name = 'readings'; END""",
)


def up(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
