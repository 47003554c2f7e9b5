"""Cancellations: who wanted a job to be ended, written before anything is signalled, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.store.rows import events
from dogwatch.store.rows.changes import Event
from dogwatch.store.rows.row import Row

if TYPE_CHECKING:
    from dogwatch.store.interface import Store, Transaction
    from dogwatch.wire.documents.cancel import CancelledBy

WANTED, DONE, REFUSED = "wanted", "done", "refused"


class CancellationRow(Row, table="cancellations", label="ref"):
    """`state` is wanted until it is known what came of it."""

    key: int = 0
    ref: str
    who: str
    at: float
    state: str
    detail: str = ""


def begin(store: Store, ref: str, place: str, who: str, at: float, mono: float) -> int:
    """Write down that somebody wants a job to be ended; its key."""
    with store.writing() as tx:
        key = tx.add(CancellationRow(ref=ref, who=who, at=at, state=WANTED))
        text = f"{who} wants it to be cancelled"
        events.append(tx, at, mono, Event("job.cancel", text, ref=ref, place=place))
        return key


def end(store: Store, key: int, state: str, detail: str, at: float, mono: float) -> None:
    """What came of it. A refused one is as if it had not been."""
    with store.writing() as tx:
        row = tx.row(CancellationRow, "WHERE key = ?", key)
        if row is not None:
            tx.change(row, state=state, detail=detail)
            kind = "job.cancelled" if state == DONE else "job.cancel_refused"
            level = "info" if state == DONE else "warning"
            events.append(tx, at, mono, Event(kind, detail, ref=row.ref, level=level))


def of_active(tx: Transaction) -> dict[str, CancelledBy]:
    """The first cancellation of each job that was not refused."""
    found: dict[str, CancelledBy] = {}
    for row in tx.rows(CancellationRow, "WHERE state <> ? ORDER BY key", REFUSED):
        found.setdefault(row.ref, {"at": row.at, "by": row.who})
    return found
