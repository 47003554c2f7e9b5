"""Reading places: where jobs live, and when each was last looked at and last seen."""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.store import cells
from dogwatch.store.tables import PLACES, add_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from dogwatch.model.job import Place
    from dogwatch.store.database import Store

    Outage = tuple[float | None, str]

_TIMES = ("looked_at", "seen_at", "dark_since")


LOCKED_OUT = (
    600.0  # for so long nobody asks a place that refuses our login, unless told to: login nodes ban those who do
)
REMOVED = "removed"  # the row stays, because the history of its jobs names it


def places(store: Store) -> list[dict[str, Any]]:
    """Every place that was not removed, in the order they were added."""
    with store.reading() as db:
        rows = [row for row in rows_of(db) if row["kind"] != REMOVED]
    return [
        {name: stamp(value) if name in _TIMES else value for name, value in row.items() if name != "key"}
        for row in rows
    ]


def rows_of(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The rows with times as numbers, for those who reckon with them."""
    return [PLACES.unpack(row) for row in all_cells(db)]


def all_cells(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """The rows as they lie there, all of them by the tally."""
    rows = db.execute(PLACES.select + "ORDER BY key").fetchall()
    add_up(db, "places", rows)
    return rows


def known_places(store: Store) -> list[Place]:
    """Every place as the engine knows it: how it is reached and how gently to ask."""
    from dogwatch.model.job import Place

    with store.reading() as db:
        rows = [row for row in rows_of(db) if row["kind"] != REMOVED]
    return [Place(row["name"], row["kind"], row["reach"], row["floor"]) for row in rows]


def dark_since(store: Store, name: str) -> float | None:
    """Since when a place has not answered, by whoever looked last; None when it did answer."""
    return _time_of(store, name, "dark_since")


def looked_at(store: Store, name: str) -> float | None:
    """When somebody last asked a place, whether it answered or not."""
    return _time_of(store, name, "looked_at")


def _time_of(store: Store, name: str, what: str) -> float | None:
    with store.reading() as db:
        found: list[float | None] = [row[what] for row in rows_of(db) if row["name"] == name]
    return found[0] if found else None


def unpolled(store: Store, now: float) -> dict[str, float | None]:
    """The places of active jobs that were not polled within their floor (or LOCKED_OUT where one refuses us), and when
    they last were. A time that lies ahead was written before the clock was set back, and forbids nothing."""
    with store.reading() as db:
        wanted = {name for (name,) in db.execute("SELECT DISTINCT place FROM jobs WHERE active = 1")}
        refusing = "SELECT name FROM places WHERE json_extract(facts, '$.locked_out')"
        refused = {name for (name,) in db.execute(refusing)}
        rows = [PLACES.proved(row) for row in all_cells(db)]
    due: dict[str, float | None] = {}
    for row in rows:
        name, kind, floor, last = (PLACES.cell(row, column) for column in ("name", "kind", "floor", "looked_at"))
        pause = max(floor, LOCKED_OUT) if name in refused else floor
        lately = last is not None and last <= now < last + pause
        if name in wanted and kind != REMOVED and not lately:
            due[cells.unpack(name)] = last
    return due


def outages_in(db: sqlite3.Connection) -> dict[str, Outage]:
    """The places that do not answer: since when, and why. Read without a JSON reader, because `ls` asks."""
    found: dict[str, Outage] = {}
    for row in map(PLACES.proved, all_cells(db)):
        since = PLACES.cell(row, "dark_since")
        if since is not None:
            found[cells.unpack(PLACES.cell(row, "name"))] = (since, cells.unpack(PLACES.cell(row, "dark_why") or ""))
    return found
