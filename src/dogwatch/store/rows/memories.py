"""A job's memory: what the watcher carries from tick to tick (log offsets, points), for active jobs only."""

from __future__ import annotations

from dogwatch.errors import StoreDamaged
from dogwatch.store.rows.row import REMEDY, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dogwatch.store.interface import Transaction
    from dogwatch.store.rows.jobs import JobRow
    from dogwatch.store.rows.row import Json


class MemoryRow(Row, table="memories", label="job"):
    job: int
    body: Json


def remember(tx: Transaction, memories: Mapping[int, Json]) -> None:
    """Replace the memories of active jobs, by their keys."""
    tx.put(MemoryRow(job=key, body=body) for key, body in memories.items())


def forget(tx: Transaction, key: int) -> None:
    """A job that is not active any more has no use for one."""
    tx.remove(MemoryRow, "WHERE job = ?", key)


def memory_of(tx: Transaction, job: JobRow) -> Json:
    """The memory that every active job has, if only an empty one."""
    held = tx.row(MemoryRow, "WHERE job = ?", job.key)
    if held is None:
        raise StoreDamaged(f"The memory of {job.ref} is missing from the store; {REMEDY}.")
    return held.body
