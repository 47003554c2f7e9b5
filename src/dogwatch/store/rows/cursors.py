"""Cursors: how far somebody has read in the history, by name."""

from __future__ import annotations

from dogwatch.store.rows.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.store.interface import Store


class CursorRow(Row, table="cursors", label="name"):
    name: str
    seq: int


def read(store: Store, name: str) -> int:
    """The number of the last event that was read; 0 before the first."""
    with store.reading() as tx:
        row = tx.row(CursorRow, "WHERE name = ?", name)
    return 0 if row is None else row.seq


def names(store: Store, beginning: str) -> list[str]:
    """The names that begin like this, without that beginning."""
    with store.reading() as tx:
        rows = tx.rows(CursorRow, "ORDER BY name")
    return [row.name.removeprefix(beginning) for row in rows if row.name.startswith(beginning)]


def drop(store: Store, name: str) -> None:
    """Forget how far was read under a name."""
    with store.writing() as tx:
        tx.remove(CursorRow, "WHERE name = ?", name)


def write(store: Store, name: str, seq: int) -> None:
    """Remember that everything up to event `seq` was read."""
    with store.writing() as tx:
        tx.put([CursorRow(name=name, seq=seq)])
