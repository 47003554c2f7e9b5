"""A job's memory: what the watcher carries from tick to tick (log offsets, points), for active jobs only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dogwatch.errors import StoreDamaged
from dogwatch.store.tables import MEMORIES, REMEDY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping


def remember(db: sqlite3.Connection, key: int, memory: Mapping[str, Any] | None) -> None:
    """Replace a job's memory; None removes it, which a job that is not active any more has no use for."""
    db.execute("DELETE FROM memories WHERE job = ?", (key,))
    if memory is not None:
        db.execute(MEMORIES.insert, MEMORIES.pack({"job": key, "body": memory}))


def remember_all(db: sqlite3.Connection, memories: Mapping[int, Mapping[str, Any]]) -> None:
    """Replace the memories of many jobs, each of which is active."""
    db.executemany("DELETE FROM memories WHERE job = ?", [(key,) for key in memories])
    db.executemany(MEMORIES.insert, [MEMORIES.pack({"job": key, "body": body}) for key, body in memories.items()])


def memory_of(db: sqlite3.Connection, row: dict[str, Any]) -> dict[str, Any]:
    """The memory that every active job has, if only an empty one."""
    held = db.execute(MEMORIES.select + "WHERE job = ?", (row["key"],)).fetchone()
    if held is None:
        raise StoreDamaged(f"The memory of {row['ref']} is missing from the store; {REMEDY}.")
    body: dict[str, Any] = MEMORIES.unpack(held)["body"]
    return body
