"""Channels: where notifications go, and the health of each: whether it takes what is sent on it. Light enough for every
list of jobs."""

from __future__ import annotations

from dogwatch.errors import UsageError
from dogwatch.store.rows.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.store.interface import Store, Transaction
    from dogwatch.store.rows.row import Json

WAITING, HELD, MUTED, GROUPED, DROPPED = "waiting", "held", "muted", "grouped", "dropped"  # of a delivery
ALONE = "alone"  # decided only: it goes out at once in a message of its own, and is written as grouped
OPEN, SENT, DEAD = "open", "sent", "dead"  # of a message
TERMINAL = "terminal"  # the channel that needs no row: what a watcher was started with
REMOVED = "the channel was removed"


class ChannelRow(Row, table="channels", label="name"):
    key: int = 0
    name: str
    kind: str
    settings: Json
    route: Json
    added: float
    after: int  # the newest notification when it was added; a clock that is set back must not make later ones earlier
    removed: float | None = None


def terminal_channel() -> ChannelRow:
    """The terminal as a channel like the others: it takes everything from the beginning."""
    return ChannelRow(name=TERMINAL, kind=TERMINAL, settings={}, route={}, added=0.0, after=0)


class DeliveryRow(Row, table="deliveries", label="channel", open="state IN ('waiting', 'held')"):
    """What becomes of a notification on a channel, and why."""

    key: int = 0
    notification: int
    channel: str
    state: str
    reason: str
    due: float
    message: int | None = None


class MessageRow(Row, table="messages", label="token", open="state = 'open'"):
    """Deliveries that are sent together, however often that is tried."""

    key: int = 0
    token: str
    channel: str
    state: str = OPEN
    created: float
    due: float
    tries: int = 0
    detail: str = ""
    settled: float | None = None


def channels(store: Store) -> list[ChannelRow]:
    """The channels in use, oldest first."""
    with store.reading() as tx:
        return [row for row in tx.every(ChannelRow) if row.removed is None]


def used_channels(tx: Transaction) -> list[ChannelRow]:
    """As `channels`, by their index."""
    return tx.rows(ChannelRow, "WHERE removed IS NULL ORDER BY key")


def add_channel(store: Store, name: str, kind: str, settings: Json, route: Json, at: float) -> None:
    """From now on; what was said before is not said again for it."""
    from dogwatch.store.rows.notifications import NotificationRow

    with store.writing() as tx:
        if name == TERMINAL or _named(tx, name) is not None:
            raise taken(name)
        newest = tx.newest_key(NotificationRow)
        tx.add(ChannelRow(name=name, kind=kind, settings=settings, route=route, added=at, after=newest))


def taken(name: str) -> UsageError:
    if name == TERMINAL:
        return UsageError(f"{name!r} is the channel that every watcher has; choose another name")
    return UsageError(f"there is already a channel named {name!r}; `dogwatch alerts rm {name}` removes it")


def change_channel(store: Store, name: str, kind: str, settings: Json, route: Json) -> None:
    """Another way to the same reader: what still waits for the channel goes that way."""
    with store.writing() as tx:
        row = _named(tx, name)
        if row is not None:
            tx.change(row, kind=kind, settings=settings, route=route)


def remove_channel(store: Store, name: str, at: float) -> None:
    """What is still to be sent on it is dropped, and says so."""
    with store.writing() as tx:
        row = _named(tx, name)
        if row is None:
            raise UsageError(f"no channel named {name!r}; `dogwatch alerts ls` lists them")
        tx.change(row, removed=at)
        for delivery in tx.rows(DeliveryRow, "WHERE channel = ? AND state IN ('waiting', 'held')", name):
            tx.change(delivery, state=DROPPED, reason=REMOVED)
        for message in tx.rows(MessageRow, "WHERE channel = ? AND state = 'open'", name):
            tx.change(message, state=DEAD, detail=REMOVED, settled=at)


def _named(tx: Transaction, name: str) -> ChannelRow | None:
    return tx.row(ChannelRow, "WHERE name = ? AND removed IS NULL", name)


def refusing(store: Store) -> tuple[dict[str, float], bool]:
    """The channels that did not take the newest message that was tried on them, and since when that waits; and whether
    any other has taken its own."""
    since: dict[str, float] = {}
    taken = False
    with store.reading() as tx:
        for channel in used_channels(tx):
            newest = tx.row(MessageRow, "WHERE channel = ? AND tries > 0 ORDER BY key DESC LIMIT 1", channel.name)
            if newest is not None and newest.state == SENT:
                taken = True
            elif newest is not None:
                since[channel.name] = newest.created
    return since, taken


def mute_since(store: Store) -> float | None:
    """Since when every channel that was tried has failed. None while one of them works, and while none was tried."""
    since, taken = refusing(store)
    return None if taken else min(since.values(), default=None)
