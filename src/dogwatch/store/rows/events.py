"""The history: numbered, append-only, each event hashed together with the hash before it.

The number and hash of the newest event are kept once more in `chain`, so that a lost tail shows. The
only gap that is no damage is one that a `store.repaired` event, itself in the chain, owns up to.
"""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.errors import StoreDamaged
from dogwatch.store.rows.encoding import canonical, encode_float
from dogwatch.store.rows.row import REMEDY, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dogwatch.store.interface import Store, Transaction
    from dogwatch.store.rows.changes import Event
    from dogwatch.store.rows.row import Json
    from dogwatch.wire.documents.watch import EventDocument

REPAIRED = "store.repaired"
GENESIS = bytes(32)


class EventRow(Row, table="events", label="kind", hashed=True):
    seq: int
    at: float
    mono: float
    kind: str
    ref: str | None = None
    place: str | None = None
    level: str
    text: str
    body: Json
    hash: bytes = b""


class ChainRow(Row, table="chain", label="seq"):
    one: int = 1
    seq: int
    hash: bytes


def append(tx: Transaction, at: float, mono: float, *events: Event) -> int:
    """Append events; returns the number of the newest one."""
    end = end_of(tx)
    rows, seq, last = [], end.seq, end.hash
    for event in events:
        seq += 1
        row = hashed(seq, last, at, mono, event)
        rows.append(row)
        last = row.hash
    tx.put(rows)
    tx.change(end, seq=seq, hash=last)
    return seq


def hashed(seq: int, last: bytes, at: float, mono: float, event: Event) -> EventRow:
    """An event as the row that follows the hash `last`."""
    row = EventRow(
        seq=seq,
        at=encode_float(at) or 0.0,
        mono=encode_float(mono) or 0.0,
        kind=event.kind,
        ref=event.ref,
        place=event.place,
        level=event.level,
        text=event.text,
        body=event.body,
    )
    return row.replaced({"hash": _hash(last, row)})


def read(
    store: Store,
    since: int = 0,
    limit: int | None = None,
    ref: str | None = None,
    newest: bool = False,
    kinds: Sequence[str] = (),
) -> list[EventDocument]:
    """Event documents after number `since`, oldest first, each confirmed by its hash; `limit` keeps the first
    of them, or with `newest` the last; `kinds` leaves others out."""
    where, values = "WHERE seq > ?", [since, *(() if ref is None else (ref,)), *kinds]
    where += "" if ref is None else " AND ref = ?"
    where += f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
    most = "" if limit is None else f" LIMIT {limit:d}"
    with store.reading() as tx:
        rows = tx.rows(EventRow, f"{where} ORDER BY seq {'DESC' if newest else 'ASC'}{most}", *values)
        rows = rows[::-1] if newest else rows
        _prove(tx, rows)
        last = end_of(tx).seq
    if ref is None and not kinds and (limit is None or newest or len(rows) < limit):
        reached = rows[-1].seq if rows else max(since, 0)
        if reached < last and limit != 0:
            raise _damaged(reached + 1, last, "missing at the end")
    return [_document(row) for row in rows]


def _prove(tx: Transaction, rows: Sequence[EventRow]) -> None:
    """Each event by the hash of the one before it, which is asked for where it was not read."""
    seq, last = -1, GENESIS
    for row in rows:
        if row.seq != seq + 1:
            before = tx.row(EventRow, "WHERE seq < ? ORDER BY seq DESC", row.seq)
            seq, last = (0, GENESIS) if before is None else (before.seq, before.hash)
        why = judge(row, seq, last)
        if why:
            raise _damaged(row.seq, row.seq, why)
        seq, last = row.seq, row.hash


def judge(row: EventRow, seq: int, last: object) -> str | None:
    """What is wrong with an event that follows number `seq` with hash `last`; None when nothing is."""
    right = row.hash == _hash(last if isinstance(last, bytes) else GENESIS, row)
    if row.seq == seq + 1:
        return None if right else "not what was hashed"
    owned = right and row.kind == REPAIRED and row.body.get("lost") == [seq + 1, row.seq - 1]
    return None if owned else "missing"


def end_of(tx: Transaction) -> ChainRow:
    """The number and hash of the newest event, by the chain's own sealed row."""
    row = tx.row(ChainRow, "")
    if row is None:
        raise StoreDamaged(f"The store no longer knows the end of its history; {REMEDY}.")
    return row


def _hash(last: bytes, row: EventRow) -> bytes:
    from dogwatch.digest import sha256

    return sha256(last + canonical(row.cells[:-1]))


def _document(row: EventRow) -> EventDocument:
    names = ("seq", "at", "kind", "ref", "place", "level", "text", "body")
    whole: Any = {name: stamp(row.at) if name == "at" else getattr(row, name) for name in names}
    return whole  # type: ignore[no-any-return]


def _damaged(first: int, last: int, why: str) -> StoreDamaged:
    which = f"Event {first} is" if first == last else f"Events {first} to {last} are"
    return StoreDamaged(f"{which} damaged ({why}); {REMEDY}.")
