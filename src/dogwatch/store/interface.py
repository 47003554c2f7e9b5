"""What the rest of Dogwatch may ask of a store, whichever database holds it.

`rows/` is written against this and nothing else; `tests/store/conformance` says what every store has to do.
SQL is the part that SQLite and PostgreSQL share, with `?` for each value; a driver that wants another mark replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from dogwatch.store.rows.row import Row

R = TypeVar("R", bound=Row)


class Transaction(Protocol):
    """One moment of the store; what is written in it is kept as a whole or not at all."""

    def rows(self, kind: type[R], where: str = "", *values: object) -> list[R]:
        """Rows as they were written; `where` is the rest of the SELECT. StoreDamaged for one that is not."""

    def row(self, kind: type[R], where: str, *values: object) -> R | None:
        """The first of them."""

    def find(self, kind: type[R], label: str) -> R | None:
        """The row of that label, also where a damaged index hides it."""

    def every(self, kind: type[R], part: str = "") -> list[R]:
        """All rows of a table or of one of its parts, by key; StoreDamaged when one is missing."""

    def extracts(self, kind: type[R], fields: Sequence[str], part: str = "") -> list[tuple[R, tuple[Any, ...]]]:
        """As `every`, each with some values out of its JSON (`column.key.key`), read by the database."""

    def counts(self, *wanted: tuple[type[Row], str]) -> list[int]:
        """How many rows there are of each table and part (or the whole, ""); cheap."""

    def newest_key(self, kind: type[Row]) -> int:
        """The highest key; 0 in an empty table."""

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Plain answers of a SELECT; not confirmed to be as they were written."""

    def walk(self, kind: type[R], where: str, *values: object) -> Iterator[R]:
        """As `rows`, one by one."""

    def add(self, row: Row) -> int:
        """A new row under the next key, which is returned; the key that it has is not used."""

    def put(self, rows: Iterable[Row]) -> None:
        """Rows under the keys that they have, in place of those that are there."""

    def change(self, row: Row, **fresh: object) -> None:
        """Other values in some columns of a row that was read in this transaction."""

    def change_last(self, kind: type[Row], values: Mapping[str, tuple[object, ...]], unless: str) -> dict[str, int]:
        """Other values in the last columns of many rows, each named by its label, unless that column of it is set.
        Returns the keys of those that were changed; equal values should be one object."""

    def remove(self, kind: type[Row], where: str, *values: object) -> None:
        """Rows that are not wanted any more."""


class Lease(Protocol):
    """A lease that is held until `close()` or the end of the process, however that comes."""

    def fileno(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...


class Holder(Protocol):
    """What the holder of a lease says of itself; nothing of it is confirmed."""

    who: str | None
    pid: int | None
    host: str | None
    since: float | None


class WakeUp(Protocol):
    """The end that waits, for select; `clear` says whether somebody called."""

    def fileno(self) -> int: ...
    def clear(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did: where the damaged store is, what it was replaced with, and what is lost."""

    quarantined: str
    restored_from: str | None
    lost: str


class Location(Protocol):
    """Where a store is kept: it can be opened, leased and repaired, and has a private folder on this machine."""

    def open(self, *, make: bool = True, readonly: bool = False) -> Store:
        """The store; made first, or brought up to date, where `make` allows."""

    def path(self, *names: str) -> str:
        """A path in the private folder (0700) where what is no row is kept: runs, secrets, bundles."""

    def writable(self) -> bool:
        """Whether anything can be written there."""

    def lease(self, who: str, now: float, name: str = ..., timeout: float = 0.0) -> Lease:
        """The only one of that name (`store.WATCH`, `store.DAEMON`, `store.place_lease(…)`), or LeaseHeld with who has
        it. A single poll that holds it is waited for, so long at most."""

    def holder(self, name: str = ...) -> Holder | None:
        """Who holds a lease; a single poll does not count."""

    def held(self, name: str = ..., *, single_poll: bool = False) -> bool:
        """Whether anybody does; a single poll counts only where asked for."""

    def wake(self) -> None:
        """Call whoever waits; never blocks, and is silent when nobody does."""

    def wakeup(self) -> WakeUp:
        """Wait for such calls."""

    def repair(self, now: float, mono: float = 0.0) -> Repair:
        """Set a damaged store aside and restore what can be confirmed; only for the holder of the lease."""


class Store(Protocol):
    """An open store; it belongs to the thread that opened it."""

    @property
    def location(self) -> Location: ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """One moment of the store; inside `writing` it joins in."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """One transaction, committed durably when the block ends without an error, else not at all."""

    def revision(self) -> int:
        """A number that grows with each commit, whoever made it, and only then."""

    def revision_of_others(self) -> int:
        """A number that differs from its last value when somebody else has committed."""

    def still_there(self) -> None:
        """Raise StoreGone when what was opened is no longer what the location holds."""

    def check(self, history: bool = True) -> list[str]:
        """Everything that is wrong with the store, a sentence each; `history` walks every event too."""

    def damaged_events(self) -> list[tuple[int, int, str]]:
        """Every damaged range of the history: its first and last number, and why."""

    def back_up(self, now: float) -> str:
        """Make the copy of this hour; its name."""

    def backup_due(self, now: float) -> bool:
        """Whether this hour has none yet."""

    def backups(self) -> list[str]:
        """Their names, oldest first."""

    def set_reserve(self) -> None:
        """Set room aside for a full disk; StoreFull when there is none."""

    def use_reserve(self) -> bool:
        """Give that room up; whether there was any."""

    def close(self) -> None: ...
    def __enter__(self) -> Store: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...
