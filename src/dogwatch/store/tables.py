"""The sealed tables: their columns in the order the seal is taken, and how a row goes in and out.

Every row carries a seal over its other cells, and triggers keep a tally (how many rows, the sum of
their seals) of each table and of its open part, so that a changed row and a vanished row both show.
"""

from __future__ import annotations

from dogwatch.errors import StoreDamaged
from dogwatch.store import cells

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

TEXT, REAL, WHOLE, JSON = "text", "real", "whole", "json"
REMEDY = "`dogwatch doctor` says what can be restored"

_PACK: dict[str, Callable[[Any], Any]] = {
    TEXT: cells.pack,
    REAL: cells.real,
    WHOLE: cells.whole,
    JSON: cells.dump,
}


class Table:
    """A sealed table; `columns` maps each column but the seal to what it holds, the key first."""

    def __init__(self, name: str, columns: dict[str, str], label: str) -> None:
        self.name = name
        self.columns = columns
        self.names = tuple(columns)
        self.label = self.names.index(label)
        listed = ", ".join(self.names)
        marks = ", ".join("?" * (len(columns) + 1))
        self.cells = f"{listed}, seal"
        self.select = f"SELECT {listed}, seal FROM {name} "
        self.insert = f"INSERT INTO {name} ({listed}, seal) VALUES ({marks})"
        self.update = f"UPDATE {name} SET {' = ?, '.join(self.names)} = ?, seal = ? WHERE {self.names[0]} = ?"
        self._at = {column: at for at, column in enumerate(self.names)}

    def pack(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """The row as cells, with its seal at the end."""
        packed = []
        for name, kind in self.columns.items():
            value = row.get(name)
            packed.append(None if value is None else _PACK[kind](value))
        values = tuple(packed)
        return (*values, cells.seal(values))

    def proved(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same cells, or StoreDamaged when they do not match their seal."""
        if not self.sound(row):
            raise StoreDamaged(
                f"A row of {self.name} in the store does not match its seal "
                f"({row[self.label]!a}, key {row[0]}); {REMEDY}."
            )
        return row

    def sound(self, row: tuple[Any, ...]) -> bool:
        width = len(self.names)
        return bool(cells.seal(tuple(row[:width])) == row[width])

    def unpack(self, row: tuple[Any, ...]) -> dict[str, Any]:
        """The proved row by column name, text and JSON restored."""
        self.proved(row)
        out: dict[str, Any] = {}
        for value, (name, kind) in zip(row, self.columns.items(), strict=False):
            if value is None or kind in (REAL, WHOLE):
                out[name] = value
            else:
                out[name] = cells.unpack(value) if kind is TEXT else cells.parse(value)
        return out

    def add(self, db: sqlite3.Connection, row: dict[str, Any]) -> int:
        """Insert a row under the next key, which is part of what is sealed."""
        key = self.next_key(db)
        db.execute(self.insert, self.pack({**row, self.names[0]: key}))
        return key

    def next_key(self, db: sqlite3.Connection) -> int:
        newest: int = db.execute(f"SELECT coalesce(max({self.names[0]}), 0) FROM {self.name}").fetchone()[0]
        return newest + 1

    def change(self, db: sqlite3.Connection, row: dict[str, Any]) -> None:
        """Write a row that was read before back under its key."""
        db.execute(self.update, (*self.pack(row), row[self.names[0]]))

    def amend(self, db: sqlite3.Connection, row: tuple[Any, ...], fresh: dict[str, Any]) -> None:
        """Replace some values of a proved row of cells. Only columns that differ are written: one that is
        not named costs neither packing nor the upkeep of its index."""
        values = list(row[: len(self.names)])
        differing = []
        for name, value in fresh.items():
            packed = None if value is None else _PACK[self.columns[name]](value)
            if packed != values[self._at[name]]:
                values[self._at[name]] = packed
                differing.append(name)
        if differing:
            listed = " = ?, ".join(differing)
            statement = f"UPDATE {self.name} SET {listed} = ?, seal = ? WHERE {self.names[0]} = ?"
            db.execute(statement, (*(values[self._at[name]] for name in differing), cells.seal(tuple(values)), row[0]))

    def cell(self, row: tuple[Any, ...], name: str) -> Any:
        """One cell of a row, as it lies there."""
        return row[self._at[name]]


JOBS = Table(
    "jobs",
    {
        "key": WHOLE,
        "ref": TEXT,
        "place": TEXT,
        "source": TEXT,
        "id": TEXT,
        "name": TEXT,
        "description": TEXT,
        "submitted": REAL,
        "registered": REAL,
        "track": JSON,
        "expect": JSON,
        "active": WHOLE,
        "forgotten": REAL,
        "state": TEXT,
        "state_facts": JSON,
        "outcome": TEXT,
        "native": TEXT,
        "reason": TEXT,
        "exit_code": WHOLE,
        "signal": WHOLE,
        "attempts": WHOLE,
        "attempt": TEXT,
        "since": REAL,
        "proved_at": REAL,
        "started": REAL,
        "proof": JSON,
        "progress": JSON,
        "eta": JSON,
        "diagnosis": JSON,
        "detail": JSON,
    },
    label="ref",
)

MEMORIES = Table("memories", {"job": WHOLE, "body": JSON}, label="job")

PLACES = Table(
    "places",
    {
        "key": WHOLE,
        "name": TEXT,
        "kind": TEXT,
        "reach": JSON,
        "floor": REAL,
        "looked_at": REAL,
        "seen_at": REAL,
        "dark_since": REAL,
        "dark_why": TEXT,
        "looks": WHOLE,
        "dark_looks": WHOLE,
        "facts": JSON,
    },
    label="name",
)

FINDINGS = Table(
    "findings",
    {
        "key": WHOLE,
        "subject": TEXT,
        "rule": TEXT,
        "what": TEXT,
        "level": TEXT,
        "text": TEXT,
        "opened": REAL,
        "resolved": REAL,
        "lasting": WHOLE,
    },
    label="subject",
)

NOTICES = Table(
    "notices",
    {
        "id": WHOLE,
        "key": TEXT,
        "subject": TEXT,
        "level": TEXT,
        "text": TEXT,
        "created": REAL,
        "done": REAL,
    },
    label="key",
)

DELIVERIES = Table(
    "deliveries",
    {"key": WHOLE, "notice": WHOLE, "channel": TEXT, "at": REAL, "ok": WHOLE, "detail": TEXT},
    label="notice",
)

WATCH = Table(
    "watch",
    {
        "one": WHOLE,
        "who": TEXT,
        "started": REAL,
        "last_tick": REAL,
        "last_mono": REAL,
        "boot": TEXT,
        "stopped": REAL,
    },
    label="who",
)


CHANNELS = Table(
    "channels",
    {
        "key": WHOLE,
        "name": TEXT,
        "kind": TEXT,
        "settings": JSON,
        "route": JSON,
        "added": REAL,
        "after": WHOLE,
        "removed": REAL,
    },
    label="name",
)

NOTES = Table(
    "notes",
    {
        "notice": WHOLE,
        "rule": TEXT,
        "what": TEXT,
        "since": REAL,
        "resolved": WHOLE,
        "why": TEXT,
        "remedy": TEXT,
        "routed": REAL,
    },
    label="rule",
)

LETTERS = Table(
    "letters",
    {
        "key": WHOLE,
        "notice": WHOLE,
        "channel": TEXT,
        "state": TEXT,
        "reason": TEXT,
        "due": REAL,
        "message": WHOLE,
    },
    label="channel",
)

MESSAGES = Table(
    "messages",
    {
        "key": WHOLE,
        "token": TEXT,
        "channel": TEXT,
        "state": TEXT,
        "created": REAL,
        "due": REAL,
        "tries": WHOLE,
        "detail": TEXT,
        "settled": REAL,
    },
    label="token",
)

SILENCES = Table(
    "silences",
    {
        "key": WHOLE,
        "subject": TEXT,
        "rule": TEXT,
        "what": TEXT,
        "until": REAL,
        "why": TEXT,
        "created": REAL,
        "ended": REAL,
    },
    label="subject",
)

READINGS = Table("readings", {"key": WHOLE, "job": WHOLE, "at": REAL, "body": JSON}, label="job")

CURSORS = Table("cursors", {"name": TEXT, "seq": WHOLE}, label="name")


def add_up(db: sqlite3.Connection, name: str, rows: list[tuple[Any, ...]]) -> None:
    """Whether the rows that were read are all there are, by the tally of that name."""
    held = db.execute("SELECT rows, total FROM tallies WHERE name = ?", (name,)).fetchone()
    if held != (len(rows), sum(row[-1] for row in rows if isinstance(row[-1], int))):
        said = "is not there" if held is None else f"says {held[0]} rows where {len(rows)} were read"
        raise StoreDamaged(f"The store does not add up: its tally of {name} {said} or differs; {REMEDY}.")
