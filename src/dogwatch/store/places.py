"""Reading places: where jobs live, and when each was last looked at and last seen."""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.store.tables import PLACES, add_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from dogwatch.store.database import Store

_TIMES = ("looked_at", "seen_at", "dark_since")


def places(store: Store) -> list[dict[str, Any]]:
    """Every place, in the order they were added."""
    with store.reading() as db:
        rows = rows_of(db)
    return [
        {name: stamp(value) if name in _TIMES else value for name, value in row.items() if name != "key"}
        for row in rows
    ]


def rows_of(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The rows with times as numbers, for those who reckon with them."""
    rows = db.execute(PLACES.select + "ORDER BY key").fetchall()
    add_up(db, "places", rows)
    return [PLACES.unpack(row) for row in rows]
