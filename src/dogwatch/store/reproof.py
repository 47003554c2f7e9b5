"""Newer proofs for jobs that are what they were: ten thousand rows in which two cells and the seal move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from dogwatch.store import cells
from dogwatch.store.jobs import cells_of
from dogwatch.store.memories import remember_all
from dogwatch.store.tables import JOBS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from dogwatch.model.state import Proof
    from dogwatch.store.database import Store

MANY = 16  # from so many rows on it is quicker to read all that are active
PROVE = "UPDATE jobs SET proved_at = ?, proof = ?, seal = ? WHERE key = ?"
_FIRST, _STARTED, _LAST = (JOBS.names.index(name) for name in ("proved_at", "started", "proof"))


class Proved(NamedTuple):
    """That a job is what it was, by this newer proof; a memory that is None keeps the old one."""

    ref: str
    proved_at: float
    proof: tuple[Proof, ...]
    memory: Mapping[str, Any] | None = None


class _Spelt(NamedTuple):
    """What the seal of a row is taken of, but for the cells that move: the checksum of what stands before them, how
    `started` is spelt, and what stands after."""

    key: int
    before: int
    started: bytes
    after: bytes

    def seal(self, proved_at: bytes, proof: bytes) -> int:
        """Of the row with these cells, as `_spelling` spells them."""
        return cells.checksum(
            self.after, cells.checksum(b"%s, %s, %s, " % (proved_at, self.started, proof), self.before)
        )


class _Spellings:
    """Those of the rows that we wrote last, for as long as nobody, ourselves included, has committed anything since."""

    def __init__(self) -> None:
        self.of: dict[str, _Spelt] = {}
        self.as_of = -1


_spellings: WeakKeyDictionary[Store, _Spellings] = WeakKeyDictionary()


def begin(store: Store, db: sqlite3.Connection) -> None:
    """At the start of a transaction, before anything is written."""
    held = _spellings.setdefault(store, _Spellings())
    if held.as_of != _commits(db):
        held.of.clear()


def end(store: Store, db: sqlite3.Connection, rewritten: Sequence[str]) -> None:
    """At its end: the rows that were rewritten as a whole are no longer spelt as we know."""
    held = _spellings[store]
    for ref in rewritten:
        held.of.pop(ref, None)
    held.as_of = _commits(db) + 1  # the one that is about to be


def write(store: Store, db: sqlite3.Connection, proved: Sequence[Proved]) -> set[str]:
    """Move the times of proofs, and nothing else; the refs of jobs that were forgotten meanwhile."""
    forgotten: set[str] = set()
    held, written = _spellings[store].of, []
    proofs: dict[int, tuple[str, bytes]] = {}  # jobs of which the same is said share the very object
    times: dict[float, tuple[float | None, bytes]] = {}
    memories: dict[int, Mapping[str, Any]] = {}
    rows: dict[str, tuple[Any, ...]] = {}
    if sum(one.ref not in held for one in proved) >= MANY:
        rows = {row[JOBS.label]: row for row in db.execute(JOBS.select + "WHERE active = 1")}
    for one in proved:
        spelt = held.get(one.ref)
        if spelt is None:
            row = rows.get(cells.pack(one.ref)) or cells_of(db, one.ref)
            if row is None or JOBS.cell(row, "forgotten") is not None:
                forgotten.add(one.ref)
                continue
            spelt = held[one.ref] = _spell(row)
        proof = proofs.get(id(one.proof))
        if proof is None:
            text = cells.dump([{"by": p.by, "says": p.says, "at": p.at} for p in one.proof])
            proof = proofs[id(one.proof)] = (text, _spelling(text))
        at = times.get(one.proved_at)
        if at is None:
            real = cells.real(one.proved_at)
            at = times[one.proved_at] = (real, _spelling(real))
        written.append((at[0], proof[0], spelt.seal(at[1], proof[1]), spelt.key))
        if one.memory is not None:
            memories[spelt.key] = one.memory
    remember_all(db, memories)
    db.executemany(PROVE, written)
    return forgotten


def _spell(row: tuple[Any, ...]) -> _Spelt:
    """Of a row that matches its seal; StoreDamaged for one that does not."""
    width = len(JOBS.names)
    before = cells.checksum(cells.canonical(row[:_FIRST])[:-1] + b", ")
    after = cells.canonical(row[_LAST + 1 : width])[1:]
    spelt = _Spelt(row[0], before, ascii(row[_STARTED]).encode(), after)
    if spelt.seal(_spelling(row[_FIRST]), _spelling(row[_LAST])) != row[width]:
        JOBS.proved(row)
    return spelt


def _spelling(cell: object) -> bytes:
    return ascii(cell).encode()


def _commits(db: sqlite3.Connection) -> int:
    """How many commits the store has seen, whoever made them."""
    count: int = db.execute("SELECT rows FROM tallies WHERE name = 'commits'").fetchone()[0]
    return count
