"""Transfers: what is being fetched from where, how far it is and who does it, so that another process can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.clock import stamp
from dogwatch.store.rows import events
from dogwatch.store.rows.changes import Event
from dogwatch.store.rows.row import Row

if TYPE_CHECKING:
    from dogwatch.store.interface import Store
    from dogwatch.store.rows.row import Json
    from dogwatch.wire.documents.transfer import TransferDocument

RUNNING, DONE, FAILED = "running", "done", "failed"
MOST_OF_A_JOB = 20  # older ones of the same job go
_TIMES = ("started", "updated", "ended")
_PLAIN = ("ref", "place", "state", "target", "way", "files", "bytes", "done_files", "done_bytes")


class TransferRow(Row, table="transfers", label="ref"):
    """`source` says what is fetched, `process` who does it (pid, start, boot), `found` what there is to tell of it."""

    key: int = 0
    ref: str
    place: str
    state: str
    source: Json
    target: str
    started: float
    updated: float
    ended: float | None = None
    files: int = 0
    bytes: int = 0
    done_files: int = 0
    done_bytes: int = 0
    way: str = ""
    process: Json = None
    detail: str = ""
    found: Json


def begin(store: Store, row: TransferRow) -> int:
    """Write down what is about to be fetched, before anything is; its key."""
    with store.writing() as tx:
        key = tx.add(row)
        held = [old for (old,) in tx.query("SELECT key FROM transfers WHERE ref = ? ORDER BY key DESC", row.ref)]
        for old in held[MOST_OF_A_JOB:]:
            tx.remove(TransferRow, "WHERE key = ?", old)
        return key


def progress(store: Store, key: int, at: float, **fresh: object) -> None:
    """How far it is."""
    with store.writing() as tx:
        row = tx.row(TransferRow, "WHERE key = ?", key)
        if row is not None:
            tx.change(row, updated=at, **fresh)


def end(store: Store, key: int, at: float, mono: float, state: str, text: str, **fresh: object) -> None:
    """How it ended, with its event."""
    with store.writing() as tx:
        row = tx.row(TransferRow, "WHERE key = ?", key)
        if row is None:
            return
        tx.change(row, state=state, updated=at, ended=at, process=None, **fresh)
        level = "info" if state == DONE else "warning"
        kind = "transfer.done" if state == DONE else "transfer.failed"
        events.append(tx, at, mono, Event(kind, text, ref=row.ref, place=row.place, level=level))


def newest(store: Store, ref: str) -> TransferRow | None:
    """The last transfer of a job that was begun."""
    with store.reading() as tx:
        return tx.row(TransferRow, "WHERE ref = ? ORDER BY key DESC LIMIT 1", ref)


def of(store: Store, refs: tuple[str, ...] | None = None) -> list[TransferRow]:
    """The last transfer of each job (of these jobs), the newest first."""
    with store.reading() as tx:
        rows = tx.rows(TransferRow, "ORDER BY key DESC")
    last: dict[str, TransferRow] = {}
    for row in rows:
        if refs is None or row.ref in refs:
            last.setdefault(row.ref, row)
    return list(last.values())


def document(row: TransferRow, alive: bool) -> TransferDocument:
    """A transfer as every interface prints it; one that runs by its row and whose process is gone was interrupted."""
    plain = {name: getattr(row, name) for name in _PLAIN}
    state = "interrupted" if row.state == RUNNING and not alive else row.state
    times = {name: stamp(getattr(row, name)) for name in _TIMES}
    found = {"left_out": [], "checkpoint": None, "safe_to_stop": None, "why_not": [], **row.found}
    return {**plain, **times, "state": state, "detail": row.detail or None, **found}  # type: ignore[typeddict-item]
