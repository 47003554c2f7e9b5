"""The history: numbered, append-only, each event hashed together with the hash before it.

The number and hash of the newest event are kept once more in `chain`, so that a lost tail shows. The
only gap that is no damage is one that a `store.repaired` event, itself in the chain, owns up to.
"""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.errors import StoreDamaged
from dogwatch.store import cells, faults
from dogwatch.store.tables import REMEDY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dogwatch.store.database import Store
    from dogwatch.store.tick import Event

REPAIRED = "store.repaired"
GENESIS = bytes(32)
COLUMNS = "seq, at, mono, kind, ref, place, level, text, body, hash"
_BEFORE = (
    "(SELECT seq FROM events p WHERE p.seq < e.seq ORDER BY seq DESC LIMIT 1), "
    "(SELECT hash FROM events p WHERE p.seq < e.seq ORDER BY seq DESC LIMIT 1)"
)


def append(store: Store, at: float, mono: float, *events: Event) -> int:
    """Append inside `store.writing()`; returns the number of the newest event."""
    db = store.db
    seq, last = end(db)
    if not events:
        return seq
    for event in events:
        seq += 1
        last = _insert(db, seq, last, at, mono, event)
    move_end(db, seq, last)
    return seq


def append_after_gap(db: sqlite3.Connection, seq: int, at: float, mono: float, event: Event) -> None:
    """Append one event that leaves a gap of lost numbers before it, which its body owns up to."""
    _, last = end(db)
    move_end(db, seq, _insert(db, seq, last, at, mono, event))


def read(
    store: Store,
    since: int = 0,
    limit: int | None = None,
    ref: str | None = None,
    newest: bool = False,
    kinds: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Event documents after number `since`, oldest first, each proved by its hash; `limit` keeps the first
    of them, or with `newest` the last; `kinds` leaves others out."""
    whose, arguments = ("AND ref = ?", [since, cells.pack(ref)]) if ref is not None else ("", [since])
    if kinds:
        whose, arguments = f"{whose} AND kind IN ({', '.join('?' * len(kinds))})", [*arguments, *kinds]
    order = "DESC" if newest else "ASC"
    sql = f"SELECT {COLUMNS}, {_BEFORE} FROM events e WHERE seq > ? {whose} ORDER BY seq {order} LIMIT ?"
    with store.reading() as db:
        rows = db.execute(sql, [*arguments, -1 if limit is None else limit]).fetchall()
        last, _ = end(db)
    if newest:
        rows.reverse()
    for row in rows:
        why = judge(row[:10], row[10] or 0, row[11] if isinstance(row[11], bytes) else GENESIS)
        if why:
            raise _damaged(row[0], row[0], why)
    if ref is None and not kinds and (limit is None or newest or len(rows) < limit):
        reached = rows[-1][0] if rows else max(since, 0)
        if reached < last and limit != 0:
            raise _damaged(reached + 1, last, "missing at the end")
    return [_document(row) for row in rows]


def verify(store: Store) -> list[dict[str, Any]]:
    """Every damaged range as {first, last, why}, reading the whole history as a stream; empty when sound."""
    with store.reading() as db:
        return verify_in(db)


def verify_in(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """`verify` on a bare connection, as a backup or a quarantined file is read."""
    damage: list[dict[str, Any]] = []
    seq, last = 0, GENESIS
    try:
        for row in db.execute(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
            why = judge(row, seq, last)
            if why == "missing":
                _note(damage, seq + 1, row[0] - 1, why)
            elif why:
                _note(damage, row[0], row[0], why)
            seq, last = row[0], row[9] if isinstance(row[9], bytes) else GENESIS
    except faults.FAILURES as error:
        _note(damage, seq + 1, max(seq + 1, _newest(db)), f"unreadable: {error}")
        return damage
    try:
        told, hashed = end(db)
    except (StoreDamaged, *faults.FAILURES) as error:
        _note(damage, seq, seq, f"the end of the chain: {error}")
        return damage
    if told > seq:
        _note(damage, seq + 1, told, "missing at the end")
    elif (told, hashed) != (seq, last):
        _note(damage, told, seq, "not what the end of the chain says")
    return damage


def judge(row: tuple[Any, ...], seq: int, last: bytes) -> str | None:
    """What is wrong with an event that follows number `seq` with hash `last`; None when nothing is."""
    right = row[9] == hash_of(last, row[:9])
    if row[0] == seq + 1:
        return None if right else "not what was hashed"
    owned = row[3] == REPAIRED and right and cells.parse(row[8]).get("lost") == [seq + 1, row[0] - 1]
    return None if owned else "missing"


def hash_of(last: bytes, row: tuple[Any, ...]) -> bytes:
    import hashlib

    return hashlib.sha256(last + cells.canonical(tuple(row))).digest()


def end(db: sqlite3.Connection) -> tuple[int, bytes]:
    """The number and hash of the newest event, by the chain's own sealed row."""
    row = db.execute("SELECT one, seq, hash, seal FROM chain").fetchone()
    if row is None or cells.seal(row[:3]) != row[3]:
        raise StoreDamaged(f"The store no longer knows the end of its history; {REMEDY}.")
    return row[1], row[2]


def move_end(db: sqlite3.Connection, seq: int, last: bytes) -> None:
    row = (1, seq, last)
    db.execute("UPDATE chain SET seq = ?, hash = ?, seal = ?", (seq, last, cells.seal(row)))


def insert_raw(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Events that come from another copy of the same history, already proved."""
    db.executemany(f"INSERT INTO events ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _insert(db: sqlite3.Connection, seq: int, last: bytes, at: float, mono: float, event: Event) -> bytes:
    row = (
        seq,
        cells.real(at) or 0.0,
        cells.real(mono) or 0.0,
        event.kind,
        None if event.ref is None else cells.pack(event.ref),
        None if event.place is None else cells.pack(event.place),
        event.level,
        cells.pack(event.text),
        cells.dump(event.body),
    )
    hashed = hash_of(last, row)
    insert_raw(db, [(*row, hashed)])
    return hashed


def _document(row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "seq": row[0],
        "at": stamp(row[1]),
        "kind": row[3],
        "ref": None if row[4] is None else cells.unpack(row[4]),
        "place": None if row[5] is None else cells.unpack(row[5]),
        "level": row[6],
        "text": cells.unpack(row[7]),
        "body": cells.parse(row[8]),
    }


def _note(damage: list[dict[str, Any]], first: int, last: int, why: str) -> None:
    """Add a range, joined to the one before it where they touch for the same reason."""
    if damage and damage[-1]["why"] == why and damage[-1]["last"] + 1 >= first:
        damage[-1]["last"] = last
    else:
        damage.append({"first": first, "last": last, "why": why})


def _newest(db: sqlite3.Connection) -> int:
    try:
        return end(db)[0]
    except (StoreDamaged, *faults.FAILURES):
        return 0


def _damaged(first: int, last: int, why: str) -> StoreDamaged:
    which = f"Event {first} is" if first == last else f"Events {first} to {last} are"
    return StoreDamaged(f"{which} damaged ({why}); {REMEDY}.")
