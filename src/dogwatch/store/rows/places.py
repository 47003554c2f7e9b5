"""Places: where jobs live, and when each was last polled and last answered."""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.errors import StoreError
from dogwatch.store.rows.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dogwatch.model.job import Place
    from dogwatch.store.interface import Store, Transaction
    from dogwatch.store.rows.changes import PlaceUpdate
    from dogwatch.store.rows.row import Json

    Outage = tuple[float | None, str]
    from dogwatch.wire.documents.watch import PlaceDocument

# For so long nobody asks a place that refuses our login, unless told to: login nodes ban those who do.
LOCKED_OUT = 600.0
REMOVED = "removed"  # the row stays, because the history of its jobs names it
_DOCUMENT = ("polled_at", "answered_at", "unreachable_since", "unreachable_why", "polls", "failed_polls")
_TIMES = ("polled_at", "answered_at", "unreachable_since")


class PlaceRow(Row, table="places", label="name"):
    key: int = 0
    name: str
    kind: str
    transport: Json
    floor: float
    polled_at: float | None = None
    answered_at: float | None = None
    unreachable_since: float | None = None
    unreachable_why: str | None = None
    polls: int = 0
    failed_polls: int = 0
    facts: Json


def places(store: Store) -> list[PlaceDocument]:
    """The documents of every place that was not removed, in the order they were added."""
    with store.reading() as tx:
        rows = [row for row in tx.every(PlaceRow) if row.kind != REMOVED]
    return [_document(row) for row in rows]


def _document(row: PlaceRow) -> PlaceDocument:
    names = ("name", "kind", "transport", "floor", *_DOCUMENT, "facts")
    document: Any = {name: getattr(row, name) for name in names}
    document |= {name: stamp(document[name]) for name in _TIMES}
    return document  # type: ignore[no-any-return]


def known_places(store: Store) -> list[Place]:
    """Every place as the engine knows it: how it is reached and how gently to ask."""
    from dogwatch.model.job import Place

    with store.reading() as tx:
        rows = [row for row in tx.every(PlaceRow) if row.kind != REMOVED]
    return [Place(row.name, row.kind, row.transport, row.floor) for row in rows]


def unreachable_since(store: Store, name: str) -> float | None:
    """Since when a place has not answered, by whoever polled last; None when it did answer."""
    with store.reading() as tx:
        row = named(tx, name)
    return None if row is None else row.unreachable_since


def polled_at(store: Store, name: str) -> float | None:
    """When somebody last asked a place, whether it answered or not."""
    with store.reading() as tx:
        row = named(tx, name)
    return None if row is None else row.polled_at


def named(tx: Transaction, name: str) -> PlaceRow | None:
    return next((row for row in tx.every(PlaceRow) if row.name == name), None)


def add_place(store: Store, place: Place) -> None:
    """Add a place, or change how a known one is reached."""
    with store.writing() as tx:
        row = named(tx, place.name)
        if row is None:
            tx.add(PlaceRow(name=place.name, kind=place.kind, transport=place.transport, floor=place.floor, facts={}))
        else:
            tx.change(row, kind=place.kind, transport=place.transport, floor=place.floor)


def write_poll(tx: Transaction, update: PlaceUpdate) -> None:
    """That a place was polled, and what came of it."""
    row = named(tx, update.name)
    if row is None:
        raise StoreError(f"There is no place named {update.name!r} in the store.")
    at, polls = update.polled_at, row.polls + 1
    if update.answered:
        reached = {"answered_at": at, "unreachable_since": None, "unreachable_why": None}
        tx.change(row, polled_at=at, polls=polls, facts=update.facts, **reached)
        return
    facts = {key: value for key, value in row.facts.items() if key != "locked_out"} | dict(update.facts)
    since = at if row.unreachable_since is None else row.unreachable_since
    failed = {"unreachable_since": since, "unreachable_why": update.why, "failed_polls": row.failed_polls + 1}
    tx.change(row, polled_at=at, polls=polls, facts=facts, **failed)


def unpolled(store: Store, now: float) -> dict[str, float | None]:
    """The places of active jobs that were not polled within their floor (or LOCKED_OUT where one refuses us), and when
    they last were. A time that lies ahead was written before the clock was set back, and forbids nothing."""
    with store.reading() as tx:
        wanted = {name for (name,) in tx.query("SELECT DISTINCT place FROM jobs WHERE active = 1")}
        rows = tx.extracts(PlaceRow, ("facts.locked_out",))
    due: dict[str, float | None] = {}
    for row, (locked_out,) in rows:
        last, pause = row.polled_at, max(row.floor, LOCKED_OUT) if locked_out else row.floor
        lately = last is not None and last <= now < last + pause
        if row.name in wanted and row.kind != REMOVED and not lately:
            due[row.name] = last
    return due


def outages(tx: Transaction) -> dict[str, Outage]:
    """The places that do not answer: since when, and why. Read without a JSON reader, because `ls` asks."""
    rows = tx.every(PlaceRow)
    return {
        row.name: (row.unreachable_since, row.unreachable_why or "")
        for row in rows
        if row.unreachable_since is not None
    }
