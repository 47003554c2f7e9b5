"""Deliveries: one for each notification and channel, with the reason, and the messages that several are sent in.

A message is written with its deliveries before it is sent, and what came of it after: a retry is the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.digest import key_of
from dogwatch.store.rows.channels import (
    ALONE,
    DROPPED,
    GROUPED,
    HELD,
    OPEN,
    REMOVED,
    SENT,
    TERMINAL,
    WAITING,
    DeliveryRow,
    MessageRow,
    used_channels,
)
from dogwatch.store.rows.notifications import NotificationRow, mark_routed, queue, unrouted

if TYPE_CHECKING:
    from dogwatch.model.finding import Notification
    from dogwatch.store.interface import Store, Transaction

RECENT = 20  # messages within which the last critical one matters for the next


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a notification on a channel, and why; `due` is when that is looked at again."""

    state: str
    reason: str
    due: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """A decision about a notification on a channel, with that notification and the message it went into."""

    key: int
    channel: str
    decision: Decision
    about: NotificationRow
    message: MessageRow | None = None


@dataclass(frozen=True, slots=True)
class Try:
    """What came of one try at a message: its state now, and when the next is due."""

    state: str
    detail: str
    due: float


Decided = Iterable[tuple[int, dict[str, Decision]]]  # of each notification, by channel


def pending(store: Store) -> tuple[int, int, int]:
    """How many notifications are not routed, deliveries open and messages open; all that an idle watcher reads."""
    with store.reading() as tx:
        unrouted, deliveries, messages = tx.counts(
            (NotificationRow, "unrouted"), (DeliveryRow, "open"), (MessageRow, "open")
        )
    return unrouted, deliveries, messages


def route(store: Store, decided: Decided, at: float, notifications: Iterable[Notification] = ()) -> None:
    """Write the deliveries of notifications, all channels' at once, and what is to be said of the decisions themselves;
    what is routed is never routed again."""
    with store.writing() as tx:
        used = {TERMINAL, *(row.name for row in used_channels(tx))}
        for id, by_channel in decided:
            about = mark_routed(tx, id, at)
            if about is None:
                continue
            for channel, decision in by_channel.items():
                _add(tx, about, channel, decision if channel in used else Decision(DROPPED, REMOVED, at), at)
        for notification in notifications:
            queue(tx, notification, at)


def _add(tx: Transaction, about: NotificationRow, channel: str, decision: Decision, at: float) -> None:
    """A delivery; of one that goes out alone its message too, with the time of what it says."""
    state, message = decision.state, None
    if state == ALONE:
        token = message_token(channel, [about])
        state, message = GROUPED, tx.add(MessageRow(token=token, channel=channel, created=about.created, due=at))
    tx.add(
        DeliveryRow(
            notification=about.id,
            channel=channel,
            state=state,
            reason=decision.reason,
            due=decision.due,
            message=message,
        )
    )


def message_token(channel: str, notifications: Iterable[NotificationRow]) -> str:
    """The key by which a receiver knows a message again."""
    return key_of(channel, *(notification.key for notification in notifications))


def open_deliveries(store: Store) -> list[Delivery]:
    """Those that wait for company or are held back, oldest first."""
    with store.reading() as tx:
        return [_delivery(tx, row) for row in tx.every(DeliveryRow, "open")]


def deliveries(store: Store, subject: str | None, limit: int) -> list[Delivery]:
    """The newest decisions for every channel but the terminal, newest first, with what became of their messages."""
    where = "" if subject is None else "AND notification IN (SELECT id FROM notifications WHERE subject = ?) "
    with store.reading() as tx:
        values = (TERMINAL,) if subject is None else (TERMINAL, subject)
        rows = tx.rows(DeliveryRow, f"WHERE channel <> ? {where}ORDER BY key DESC LIMIT {limit:d}", *values)
        return [_delivery(tx, row) for row in rows]


def _delivery(tx: Transaction, row: DeliveryRow) -> Delivery:
    about = tx.row(NotificationRow, "WHERE id = ?", row.notification)
    assert about is not None  # by its foreign key
    message = None if row.message is None else tx.row(MessageRow, "WHERE key = ?", row.message)
    return Delivery(row.key, row.channel, Decision(row.state, row.reason, row.due), about, message)


def redecide(store: Store, decided: Iterable[tuple[int, Decision]]) -> None:
    """Another decision about deliveries that were still open."""
    with store.writing() as tx:
        for key, decision in decided:
            for row in tx.rows(DeliveryRow, "WHERE key = ? AND state IN ('waiting', 'held')", key):
                tx.change(row, state=decision.state, reason=decision.reason, due=decision.due)


def compose(store: Store, channel: str, waiting: Sequence[Delivery], at: float) -> None:
    """A message of these deliveries; from here on it is one thing, however often it is tried. None when one of them has
    been decided otherwise meanwhile (the channel was removed)."""
    with store.writing() as tx:
        rows = [row for delivery in waiting for row in tx.rows(DeliveryRow, "WHERE key = ?", delivery.key)]
        if any(row.state != WAITING for row in rows):
            return
        token = message_token(channel, [delivery.about for delivery in waiting])
        message = tx.add(MessageRow(token=token, channel=channel, created=at, due=at))
        for row in rows:
            tx.change(row, state=GROUPED, message=message)


def last_composed(store: Store, channel: str, most: int, critical: bool = False) -> list[float]:
    """When the newest messages of a channel were made, or of its newest few those that say something critical."""
    both = "deliveries AS d JOIN notifications AS n ON n.id = d.notification"
    says = f"SELECT 1 FROM {both} WHERE d.message = ? AND n.level = ? LIMIT 1"
    with store.reading() as tx:
        sql = "SELECT key, created FROM messages WHERE channel = ? ORDER BY key DESC LIMIT ?"
        newest = tx.query(sql, channel, RECENT if critical else most)
        return [float(made) for key, made in newest if not critical or tx.query(says, key, "critical")][:most]


def messages(store: Store, state: str = OPEN) -> list[MessageRow]:
    """Messages of one state, oldest first."""
    with store.reading() as tx:
        if state == OPEN:
            return tx.every(MessageRow, "open")
        return tx.rows(MessageRow, "WHERE state = ? ORDER BY key", state)


def channel_messages(store: Store, state: str = OPEN) -> list[MessageRow]:
    """Messages of one state on every channel but the terminal, oldest first."""
    return [row for row in messages(store, state) if row.channel != TERMINAL]


def unshown(store: Store) -> list[NotificationRow]:
    """What a terminal has still to show or to pass over, oldest first."""
    open_messages = [row for row in messages(store) if row.channel == TERMINAL]
    return [about for row in open_messages for about in notifications_of(store, row.key)] + unrouted(store)


def message(store: Store, key: int) -> MessageRow | None:
    """A message that is still open."""
    with store.reading() as tx:
        return tx.row(MessageRow, "WHERE key = ? AND state = 'open'", key)


def notifications_of(store: Store, message: int) -> list[NotificationRow]:
    """What a message says, oldest first; that never changes."""
    with store.reading() as tx:
        where = "WHERE id IN (SELECT notification FROM deliveries WHERE message = ?) ORDER BY id"
        return tx.rows(NotificationRow, where, message)


def tried(store: Store, key: int, at: float, last: Try, notifications: Iterable[Notification] = ()) -> None:
    """What came of one try, after it was made, and what is to be said of that elsewhere."""
    settled = None if last.state == OPEN else at
    with store.writing() as tx:
        for row in tx.rows(MessageRow, "WHERE key = ?", key):
            if row.state == OPEN or last.state == SENT:
                tx.change(row, state=last.state, detail=last.detail, due=last.due, tries=row.tries + 1, settled=settled)
        for notification in notifications:
            queue(tx, notification, at)


def revive(store: Store, at: float) -> int:
    """Try what was given up once more, and what waits for its turn at once; how many."""
    with store.writing() as tx:
        used = {row.name for row in used_channels(tx)}
        rows = [row for row in tx.rows(MessageRow, "WHERE state IN ('open', 'dead')") if row.channel in used]
        for row in rows:
            tx.change(row, state=OPEN, due=at, settled=None)
        return len(rows)


def sent_opening(store: Store, channel: str, ending: NotificationRow, before: int) -> bool:
    """Whether what this notification ends was, or will be, said on a channel by one with a lower number than `before`:
    that it began, that it still stood, or after flapping the final word; back to when it last ended."""
    sql = (
        "SELECT d.state, CASE WHEN n.resolved <> 0 AND n.rule = ? THEN 1 ELSE 0 END FROM notifications AS n "
        "LEFT JOIN deliveries AS d ON d.notification = n.id AND d.channel = ? WHERE n.subject = ? AND n.id < ? "
        "AND ((n.rule = ? AND n.what = ?) OR (n.rule = 'flapping' AND n.what = ? AND n.resolved <> 0)) "
        "ORDER BY n.id DESC"
    )
    rule, what = ending.rule, ending.what
    with store.reading() as tx:
        for state, ended in tx.query(sql, rule, channel, ending.subject, before, rule, what, f"{rule}\x1f{what}"):
            if ended or state in said_by(rule):
                return not ended
    return False


def said_by(rule: str) -> tuple[str, ...]:
    """The states of a delivery that is, or will be, said. A finding that is held back may have gone until then; that
    something flapped stays true."""
    return (WAITING, GROUPED, HELD) if rule == "flapping" else (WAITING, GROUPED)
