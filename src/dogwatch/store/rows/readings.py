"""Readings: a job's history in numbers (step, rate, memory, GPUs), bounded however long it runs.

When a job has as many as it may have, every second one goes; whoever keeps them then asks half as often
(`spacing`), so that they stay evenly spread from the first minute to now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.store.rows.jobs import JobRow
from dogwatch.store.rows.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dogwatch.store.interface import Store, Transaction
    from dogwatch.store.rows.changes import Reading
    from dogwatch.store.rows.row import Json

KEYS = ("step", "rate", "rss", "gpu_used", "gpu_memory", "watts", "output_bytes", "loss")
EVERY = 30.0
MOST, FEWEST = 240, 48  # of a job; of one when there are more than MOST_OF_ALL
MOST_OF_ALL = 100_000


class ReadingRow(Row, table="readings", label="job"):
    key: int = 0
    job: int
    at: float
    body: Json


def spacing(age: float) -> float:
    """Seconds from one reading to the next of a job that was watched for so long."""
    every = EVERY
    while age > every * MOST:
        every *= 2
    return every


def keep(tx: Transaction, key: int, at: float, body: Mapping[str, float], most: int = MOST) -> None:
    """Add a reading of the job with that key, and thin its history when it has more than `most`."""
    unknown = set(body) - set(KEYS)
    if unknown:
        raise ValueError(f"a reading has no {min(unknown)}; there are {', '.join(KEYS)}")
    tx.add(ReadingRow(job=key, at=at, body=dict(body)))
    held = [row[0] for row in tx.query("SELECT key FROM readings WHERE job = ? ORDER BY key", key)]
    if len(held) > most:
        gone = held[1:-1:2]
        tx.remove(ReadingRow, f"WHERE key IN ({', '.join('?' * len(gone))})", *gone)


def keep_all(tx: Transaction, at: float, readings: Iterable[Reading]) -> None:
    """Those of one tick, of jobs that are watched. When all jobs together have too many, each keeps fewer, and the
    oldest of those that are over give up theirs."""
    kept = list(readings)
    if not kept:
        return
    crowded = tx.counts((ReadingRow, ""))[0] + len(kept) > MOST_OF_ALL
    for one in kept:
        for (key,) in tx.query("SELECT key FROM jobs WHERE ref = ? AND forgotten IS NULL", one.ref):
            keep(tx, key, at, one.body, FEWEST if crowded else MOST)
    if crowded:
        over = "SELECT key FROM jobs WHERE active = 0 AND key IN (SELECT job FROM readings) ORDER BY key LIMIT 1"
        for (key,) in tx.query(over):
            drop(tx, key)


def drop(tx: Transaction, key: int) -> None:
    """All of a job's."""
    tx.remove(ReadingRow, "WHERE job = ?", key)


def readings_of(store: Store, ref: str) -> list[dict[str, float]]:
    """A job's readings, oldest first: `at` and what was measured then. That none is missing is confirmed by reading the
    whole table, which takes its time when there are many."""
    with store.reading() as tx:
        job = tx.find(JobRow, ref)
        rows = [] if job is None else [row for row in tx.every(ReadingRow) if row.job == job.key]
    return [{"at": row.at, **row.body} for row in rows]


def curve_of(store: Store, ref: str, upto: float) -> tuple[float | None, list[tuple[float, dict[str, float]]]]:
    """(the total of a job, its readings up to a time): quickly, by their index, because a picture needs no evidence
    that none is missing."""
    with store.reading() as tx:
        job = tx.row(JobRow, "WHERE ref = ?", ref)
        if job is None:
            return None, []
        rows = tx.rows(ReadingRow, "WHERE job = ? ORDER BY key", job.key)
    total = (job.progress or {}).get("total")
    return None if total is None else float(total), [(row.at, row.body) for row in rows if row.at <= upto]
