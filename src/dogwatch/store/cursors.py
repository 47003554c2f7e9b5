"""Cursors: how far somebody has read in the history, by name."""

from __future__ import annotations

from dogwatch.store.tables import CURSORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.store.database import Store


def read(store: Store, name: str) -> int:
    """The number of the last event that was read; 0 before the first."""
    with store.reading() as db:
        row = db.execute(CURSORS.select + "WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(CURSORS.unpack(row)["seq"])


def names(store: Store, beginning: str) -> list[str]:
    """The names that begin like this, without that beginning."""
    with store.reading() as db:
        rows = db.execute(CURSORS.select + "ORDER BY name").fetchall()
    found = [str(CURSORS.unpack(row)["name"]) for row in rows]
    return [name.removeprefix(beginning) for name in found if name.startswith(beginning)]


def drop(store: Store, name: str) -> None:
    """Forget how far was read under a name."""
    with store.writing() as db:
        db.execute("DELETE FROM cursors WHERE name = ?", (name,))


def write(store: Store, name: str, seq: int) -> None:
    """Remember that everything up to event `seq` was read."""
    with store.writing() as db:
        db.execute("DELETE FROM cursors WHERE name = ?", (name,))
        db.execute(CURSORS.insert, CURSORS.pack({"name": name, "seq": seq}))
