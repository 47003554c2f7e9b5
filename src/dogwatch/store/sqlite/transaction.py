"""A transaction on SQLite: rows go in with a seal and come out confirmed by it.

Every row carries a seal, the checksum of its other cells, and triggers keep a tally (how many rows, the sum of
their seals) of each table and of its parts, so that a changed row and a vanished row both show.
"""

from __future__ import annotations

import zlib

from dogwatch.errors import StoreDamaged
from dogwatch.store.rows.encoding import canonical, decode_text, encode_text
from dogwatch.store.rows.row import REMEDY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from dogwatch.store.rows.row import Cells, Row

    R = TypeVar("R", bound=Row)

MANY = 16  # from so many rows on it is quicker to read all that are active


def seal(cells: Cells) -> int:
    """The checksum that a row carries of its own other cells."""
    return zlib.crc32(canonical(cells))


def select(kind: type[Row], *more: str) -> str:
    """The beginning of a SELECT of whole rows, each with its seal."""
    listed = (kind.LISTED, *(() if kind.HASHED else ("seal",)), *more)
    return f"SELECT {', '.join(listed)} FROM {kind.TABLE} "


def intact(kind: type[Row], raw: Cells) -> bool:
    """Whether a row matches its seal."""
    width = len(kind.NAMES)
    return kind.HASHED or bool(seal(raw[:width]) == raw[width])


def verified(kind: type[R], raw: Cells) -> R:
    """The row, or StoreDamaged when it does not match its seal."""
    if not intact(kind, raw):
        raise StoreDamaged(
            f"A row of {kind.TABLE} in the store does not match its seal ({raw[kind.LABEL]!a}, key {raw[0]}); {REMEDY}."
        )
    return kind.of(raw[: len(kind.NAMES)])


def add_up(db: sqlite3.Connection, tally: str, seals: Sequence[object]) -> None:
    """Whether the rows that were read are all there are, by the tally of that name."""
    held = db.execute("SELECT rows, total FROM tallies WHERE name = ?", (tally,)).fetchone()
    if held != (len(seals), sum(one for one in seals if isinstance(one, int))):
        says = "is not there" if held is None else f"says {held[0]} rows where {len(seals)} were read"
        raise StoreDamaged(f"The store does not add up: its tally of {tally} {says} or differs; {REMEDY}.")


def tally_of(kind: type[Row], part: str) -> str:
    return f"{kind.TABLE}.{part}" if part else kind.TABLE


class SealPrefixes:
    """The checksums of all but the last cells of rows, by label, for as long as nobody else has committed."""

    def __init__(self) -> None:
        self.of: dict[str, tuple[int, int]] = {}  # label: key, checksum
        self.as_of = -1


class Transaction:
    """See `store.interface.Transaction`; the caller has begun it and ends it."""

    def __init__(self, db: sqlite3.Connection, prefixes: SealPrefixes) -> None:
        self.db, self._prefixes = db, prefixes

    def rows(self, kind: type[R], where: str = "", *values: object) -> list[R]:
        return list(self.walk(kind, where, *values))

    def walk(self, kind: type[R], where: str, *values: object) -> Iterator[R]:
        return (verified(kind, raw) for raw in self.db.execute(select(kind) + where, _cells(values)))

    def row(self, kind: type[R], where: str, *values: object) -> R | None:
        raw = self.db.execute(select(kind) + where, _cells(values)).fetchone()
        return None if raw is None else verified(kind, raw)

    def find(self, kind: type[R], label: str) -> R | None:
        raw = self._labelled(kind, label)
        return None if raw is None else verified(kind, raw)

    def _labelled(self, kind: type[Row], label: str) -> Cells | None:
        column, wanted = kind.NAMES[kind.LABEL], encode_text(label)
        raw: Cells | None = self.db.execute(select(kind) + f"WHERE {column} = ?", (wanted,)).fetchone()
        if raw is None or raw[kind.LABEL] != wanted:
            raw = self.db.execute(select(kind) + f"NOT INDEXED WHERE {column} = ?", (wanted,)).fetchone()
        return raw

    def every(self, kind: type[R], part: str = "") -> list[R]:
        return [row for row, _ in self.extracts(kind, (), part)]

    def extracts(self, kind: type[R], fields: Sequence[str], part: str = "") -> list[tuple[R, Cells]]:
        paths = (field.partition(".") for field in fields)
        sql = select(kind, *(f"json_extract({column}, '$.{path}')" for column, _, path in paths))
        where = f"WHERE {kind.PARTS[part]} " if part else ""
        raws = self.db.execute(f"{sql}{where}ORDER BY {kind.KEY}").fetchall()
        width = len(kind.NAMES)
        add_up(self.db, tally_of(kind, part), [raw[width] for raw in raws])
        return [(verified(kind, raw), raw[width + 1 :]) for raw in raws]

    def counts(self, *wanted: tuple[type[Row], str]) -> list[int]:
        names = [tally_of(kind, part) for kind, part in wanted]
        sql = f"SELECT name, rows FROM tallies WHERE name IN ({', '.join('?' * len(names))})"
        numbers: dict[str, int] = dict(self.db.execute(sql, names).fetchall())
        return [numbers[name] for name in names]

    def newest_key(self, kind: type[Row]) -> int:
        number: int = self.db.execute(f"SELECT coalesce(max({kind.KEY}), 0) FROM {kind.TABLE}").fetchone()[0]
        return number

    def query(self, sql: str, *values: object) -> list[Cells]:
        rows = self.db.execute(sql, _cells(values)).fetchall()
        return [tuple(decode_text(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]

    def add(self, row: Row) -> int:
        key = self.newest_key(type(row)) + 1
        self.insert(row.replaced({row.KEY: key}))
        return key

    def insert(self, *rows: Row) -> None:
        """Rows under the keys that they have, which nobody else has."""
        kind = type(rows[0])
        marks = ", ".join("?" * (len(kind.NAMES) + (not kind.HASHED)))
        listed = kind.LISTED if kind.HASHED else f"{kind.LISTED}, seal"
        cells = [row.cells if kind.HASHED else (*row.cells, seal(row.cells)) for row in rows]
        self.db.executemany(f"INSERT INTO {kind.TABLE} ({listed}) VALUES ({marks})", cells)

    def put(self, rows: Iterable[Row]) -> None:
        fresh = list(rows)
        if fresh:
            kind = type(fresh[0])
            if not kind.HASHED:
                keys = [(row.cells[0],) for row in fresh]
                self.db.executemany(f"DELETE FROM {kind.TABLE} WHERE {kind.KEY} = ?", keys)
            self.insert(*fresh)

    def change(self, row: Row, **fresh: object) -> None:
        cells = row.changed(**fresh)
        if cells:
            self._forget_prefix(row)
            listed = " = ?, ".join((*cells, "seal"))
            sql = f"UPDATE {row.TABLE} SET {listed} = ? WHERE {row.KEY} = ?"
            self.db.execute(sql, (*cells.values(), seal(row.replaced(cells).cells), row.cells[0]))

    def remove(self, kind: type[Row], where: str, *values: object) -> None:
        self.db.execute(f"DELETE FROM {kind.TABLE} {where}", _cells(values))

    def change_last(self, kind: type[Row], values: Mapping[str, tuple[object, ...]], unless: str) -> dict[str, int]:
        if not values:
            return {}
        columns = kind.NAMES[-len(next(iter(values.values()))) :]
        prefixes, changed, written = self._known_prefixes(), {}, []
        rows = self._many(kind, sum(label not in prefixes for label in values))
        endings: dict[int, tuple[Cells, bytes]] = {}  # by identity: what is said of many rows is one object
        for label, fresh in values.items():
            known = prefixes.get(label)
            if known is None:
                raw = rows.get(encode_text(label)) or self._labelled(kind, label)
                if raw is None or raw[kind.NAMES.index(unless)] is not None:
                    continue
                known = prefixes[label] = _prefix(kind, raw, len(columns))
            ending = endings.get(id(fresh))
            if ending is None:
                cells = tuple(kind.encoded(*pair) for pair in zip(columns, fresh, strict=True))
                ending = endings[id(fresh)] = cells, _ending(cells)
            changed[label] = known[0]
            written.append((*ending[0], zlib.crc32(ending[1], known[1]), known[0]))
        listed = " = ?, ".join((*columns, "seal"))
        self.db.executemany(f"UPDATE {kind.TABLE} SET {listed} = ? WHERE {kind.KEY} = ?", written)
        return changed

    def _many(self, kind: type[Row], unknown: int) -> dict[str, Cells]:
        """The active rows by label, where it is quicker to read them all."""
        if unknown < MANY:
            return {}
        return {raw[kind.LABEL]: raw for raw in self.db.execute(select(kind) + f"WHERE {kind.PARTS['active']}")}

    def _known_prefixes(self) -> dict[str, tuple[int, int]]:
        commits = reached(self.db)[0]
        if self._prefixes.as_of != commits:
            self._prefixes.of.clear()
            self._prefixes.as_of = commits
        return self._prefixes.of

    def _forget_prefix(self, row: Row) -> None:
        if self._prefixes.of:
            self._prefixes.of.pop(decode_text(str(row.cells[row.LABEL])), None)

    def count_commit(self) -> tuple[int, int]:
        """Count the commit that is about to be; how many there are then, and the number of the newest event."""
        self.db.execute("UPDATE tallies SET rows = rows + 1 WHERE name = 'commits'")
        commits, seq = reached(self.db)
        if self._prefixes.as_of == commits - 1:
            self._prefixes.as_of = commits
        return commits, seq

    def undone(self) -> None:
        """What was read in a transaction that is rolled back may be of rows that it had changed."""
        self._prefixes.as_of = -1


def reached(db: sqlite3.Connection) -> tuple[int, int]:
    """How many commits the store holds, and the number of its newest event."""
    row = db.execute("SELECT rows, (SELECT seq FROM chain) FROM tallies WHERE name = 'commits'").fetchone()
    if row is None or not all(isinstance(cell, int) for cell in row):
        raise StoreDamaged(f"The store is damaged (its count of commits is not there); {REMEDY}.")
    return row[0], row[1]


def _cells(values: Sequence[object]) -> list[Any]:
    return [encode_text(value) if isinstance(value, str) else value for value in values]


def _ending(cells: Cells) -> bytes:
    """How the last cells of a row are spelt for the seal."""
    return canonical(cells)[1:]


def _prefix(kind: type[Row], raw: Cells, width: int) -> tuple[int, int]:
    """(key, checksum of what stands before its last cells) of a row that matches its seal."""
    end = len(kind.NAMES)
    known = zlib.crc32(canonical(raw[: end - width])[:-1] + b", ")
    if zlib.crc32(_ending(raw[end - width : end]), known) != raw[end]:
        verified(kind, raw)
    return raw[0], known
