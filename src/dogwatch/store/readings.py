"""Readings: a job's history in numbers (step, rate, memory, GPUs), bounded however long it runs.

When a job has as many as it may have, every second one goes; whoever keeps them then asks half as often
(`spacing`), so that they stay evenly spread from the first minute to now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dogwatch.store import cells
from dogwatch.store.jobs import row_of
from dogwatch.store.tables import READINGS, add_up

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from dogwatch.store.database import Store

KEYS = ("step", "rate", "rss", "gpu_used", "gpu_memory", "watts", "output_bytes", "loss")
EVERY = 30.0
MOST, FEWEST = 240, 48  # of a job; of one when there are more than MOST_OF_ALL
MOST_OF_ALL = 100_000


class Reading(NamedTuple):
    """What was measured of a job in a tick; `body` has some of KEYS."""

    ref: str
    body: Mapping[str, float]


def spacing(age: float) -> float:
    """Seconds from one reading to the next of a job that was watched for so long."""
    every = EVERY
    while age > every * MOST:
        every *= 2
    return every


def keep(db: sqlite3.Connection, key: int, at: float, body: Mapping[str, Any], most: int = MOST) -> None:
    """Add a reading of the job with that key, and thin its history when it has more than `most`."""
    unknown = set(body) - set(KEYS)
    if unknown:
        raise ValueError(f"a reading has no {min(unknown)}; there are {', '.join(KEYS)}")
    READINGS.add(db, {"job": key, "at": at, "body": dict(body)})
    held = [row[0] for row in db.execute("SELECT key FROM readings WHERE job = ? ORDER BY key", (key,))]
    if len(held) > most:
        db.executemany("DELETE FROM readings WHERE key = ?", [(one,) for one in held[1:-1:2]])


def keep_all(db: sqlite3.Connection, at: float, readings: Iterable[Reading]) -> None:
    """Those of one tick, of jobs that are watched. When all jobs together have too many, each keeps fewer, and the
    oldest of those that are over give up theirs."""
    kept = list(readings)
    if not kept:
        return
    crowded = _count(db) + len(kept) > MOST_OF_ALL
    for one in kept:
        row = db.execute("SELECT key FROM jobs WHERE ref = ? AND forgotten IS NULL", (cells.pack(one.ref),)).fetchone()
        if row is not None:
            keep(db, row[0], at, one.body, FEWEST if crowded else MOST)
    if crowded:
        over = "SELECT key FROM jobs WHERE active = 0 AND key IN (SELECT job FROM readings) ORDER BY key LIMIT 1"
        oldest = db.execute(over).fetchone()
        if oldest is not None:
            drop(db, oldest[0])


def drop(db: sqlite3.Connection, key: int) -> None:
    """All of a job's."""
    db.execute("DELETE FROM readings WHERE job = ?", (key,))


def readings_of(store: Store, ref: str) -> list[dict[str, Any]]:
    """A job's readings, oldest first: `at` and what was measured then. That none is missing is proved by the tally of
    all, so it is read from the table itself, which takes its time when there are many."""
    with store.reading() as db:
        job = row_of(db, ref)
        if job is None:
            return []
        add_up(db, "readings", db.execute("SELECT seal FROM readings NOT INDEXED").fetchall())
        rows = db.execute(READINGS.select + "NOT INDEXED WHERE job = ? ORDER BY key", (job["key"],)).fetchall()
    return [{"at": row["at"], **row["body"]} for row in map(READINGS.unpack, rows)]


def _count(db: sqlite3.Connection) -> int:
    held: int = db.execute("SELECT rows FROM tallies WHERE name = 'readings'").fetchone()[0]
    return held
