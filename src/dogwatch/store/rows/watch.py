"""The watch row: who watches or last watched, and when it last ticked, so that a gap can be told."""

from __future__ import annotations

from dogwatch.store.rows import events
from dogwatch.store.rows.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.store.interface import Store, Transaction
    from dogwatch.store.rows.changes import Event


class WatchRow(Row, table="watch", label="who"):
    one: int = 1
    who: str
    started: float
    last_tick: float | None
    last_mono: float | None
    boot: str
    stopped: float | None = None


def last(store: Store) -> WatchRow | None:
    """Who watches or last watched; None before the first watch."""
    with store.reading() as tx:
        return tx.row(WatchRow, "")


def begin(store: Store, who: str, at: float, mono: float, boot: str, *happened: Event) -> int:
    """A watch begins, with the events that say so (watch.started, a watch.gap), in one transaction."""
    with store.writing() as tx:
        tx.put([WatchRow(who=who, started=at, last_tick=at, last_mono=mono, boot=boot)])
        return events.append(tx, at, mono, *happened)


def finish(store: Store, at: float, mono: float, *happened: Event) -> int:
    """A watch ends as it should, which is what tells its end from a gap."""
    with store.writing() as tx:
        row = tx.row(WatchRow, "")
        if row is not None:
            tx.change(row, stopped=at)
        return events.append(tx, at, mono, *happened)


def ticked(tx: Transaction, at: float, mono: float) -> None:
    """Note the time of a tick, inside its transaction."""
    row = tx.row(WatchRow, "")
    if row is not None:
        tx.change(row, last_tick=at, last_mono=mono)
