"""Newer proofs for jobs that are what they were: ten thousand rows in which two cells and the seal move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from dogwatch.store import cells
from dogwatch.store.cells import checksum
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

    def seal(self, above: bytes, below: bytes) -> int:
        """Of the row with what stands in it above and below `started`, as `_around` spells it."""
        return checksum(self.after, checksum(above + self.started + below, self.before))


class _Proof(NamedTuple):
    """A proof and its time as they are written to every row of which the same is said."""

    of: Proved
    at: float | None
    text: str
    above: bytes
    below: bytes


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
    proofs: dict[tuple[int, float], _Proof] = {}
    memories: dict[int, Mapping[str, Any]] = {}
    rows: dict[str, tuple[Any, ...]] = {}
    if sum(one.ref not in held for one in proved) >= MANY:
        rows = {row[JOBS.label]: row for row in db.execute(JOBS.select + "WHERE active = 1")}
    for one in proved:
        ref, proved_at, said, memory = one
        spelt = held.get(ref)
        if spelt is None:
            row = rows.get(cells.pack(ref)) or cells_of(db, ref)
            if row is None or JOBS.cell(row, "forgotten") is not None:
                forgotten.add(ref)
                continue
            spelt = held[ref] = _spell(row)
        proof = proofs.get((id(said), proved_at))  # jobs of which the same is said share the very object
        if proof is None:
            proof = proofs[id(said), proved_at] = _proof(one)
        written.append((proof.at, proof.text, spelt.seal(proof.above, proof.below), spelt.key))
        if memory is not None:
            memories[spelt.key] = memory
    remember_all(db, memories)
    db.executemany(PROVE, written)
    return forgotten


def _proof(one: Proved) -> _Proof:
    at, text = cells.real(one.proved_at), cells.dump([{"by": p.by, "says": p.says, "at": p.at} for p in one.proof])
    return _Proof(one, at, text, *_around(at, text))


def _around(proved_at: object, proof: object) -> tuple[bytes, bytes]:
    """How the cells beside `started` are spelt for the seal."""
    return ascii(proved_at).encode() + b", ", b", " + ascii(proof).encode() + b", "


def _spell(row: tuple[Any, ...]) -> _Spelt:
    """Of a row that matches its seal; StoreDamaged for one that does not."""
    width = len(JOBS.names)
    before = checksum(cells.canonical(row[:_FIRST])[:-1] + b", ")
    after = cells.canonical(row[_LAST + 1 : width])[1:]
    spelt = _Spelt(row[0], before, ascii(row[_STARTED]).encode(), after)
    if spelt.seal(*_around(row[_FIRST], row[_LAST])) != row[width]:
        JOBS.proved(row)
    return spelt


def _commits(db: sqlite3.Connection) -> int:
    """How many commits the store has seen, whoever made them."""
    count: int = db.execute("SELECT rows FROM tallies WHERE name = 'commits'").fetchone()[0]
    return count
