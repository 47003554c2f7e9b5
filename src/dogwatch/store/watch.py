"""The watch row: who watches or last watched, and when it last ticked, so that a gap can be told."""

from __future__ import annotations

from dogwatch.store import events
from dogwatch.store.tables import WATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from dogwatch.store.database import Store
    from dogwatch.store.tick import Event


def last(store: Store) -> dict[str, Any] | None:
    """{who, started, last_tick, last_mono, boot, stopped}, times as numbers; None before the first watch."""
    with store.reading() as db:
        return _row(db)


def begin(store: Store, who: str, at: float, mono: float, boot: str, *happened: Event) -> int:
    """A watch begins, with the events that say so (watch.started, a watch.gap), in one transaction."""
    with store.writing() as db:
        db.execute("DELETE FROM watch")
        row = {"one": 1, "who": who, "started": at, "last_tick": at, "last_mono": mono, "boot": boot}
        db.execute(WATCH.insert, WATCH.pack(row))
        return events.append(store, at, mono, *happened)


def finish(store: Store, at: float, mono: float, *happened: Event) -> int:
    """A watch ends as it should, which is what tells its end from a gap."""
    with store.writing() as db:
        row = _row(db)
        if row is not None:
            WATCH.change(db, {**row, "stopped": at})
        return events.append(store, at, mono, *happened)


def ticked(db: sqlite3.Connection, at: float, mono: float) -> None:
    """Note the time of a tick, inside its transaction."""
    row = db.execute(WATCH.select).fetchone()
    if row is not None:
        WATCH.amend(db, WATCH.proved(row), {"last_tick": at, "last_mono": mono})


def _row(db: sqlite3.Connection) -> dict[str, Any] | None:
    row = db.execute(WATCH.select).fetchone()
    return None if row is None else WATCH.unpack(row)
