"""The queue of what is to be said, and the record of each try at saying it."""

from __future__ import annotations

from dogwatch.store.tables import DELIVERIES, NOTICES, add_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dogwatch.store.database import Store


def queued(store: Store) -> list[dict[str, Any]]:
    """What is still to be said, oldest first: {id, key, subject, level, text, created, done, tries}."""
    with store.reading() as db:
        rows = db.execute(NOTICES.select + "WHERE done IS NULL ORDER BY id").fetchall()
        add_up(db, "notices.open", rows)
        if not rows:
            return []
        tries = dict(
            db.execute(
                "SELECT notice, count(*) FROM deliveries WHERE notice IN "
                "(SELECT id FROM notices WHERE done IS NULL) GROUP BY notice"
            )
        )
    waiting = [NOTICES.unpack(row) for row in rows]
    return [{**notice, "tries": tries.get(notice["id"], 0)} for notice in waiting]


def delivered(store: Store, id: int, channel: str, at: float, ok: bool, detail: str, done: bool) -> None:
    """Record one try, after it was made; `done` takes the notice off the queue."""
    with store.writing() as db:
        DELIVERIES.add(db, {"notice": id, "channel": channel, "at": at, "ok": int(ok), "detail": detail})
        row = db.execute(NOTICES.select + "WHERE id = ?", (id,)).fetchone()
        if done and row is not None:
            NOTICES.change(db, {**NOTICES.unpack(row), "done": at})
