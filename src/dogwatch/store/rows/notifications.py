"""Notifications: what is to be said to people, each written once under its key."""

from __future__ import annotations

from dogwatch.store.rows.findings import end_acknowledgements
from dogwatch.store.rows.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dogwatch.model.finding import Notification
    from dogwatch.store.interface import Store, Transaction


class NotificationRow(Row, table="notifications", label="key", unrouted="routed IS NULL"):
    """`resolved` is how what it is about has ended, if that is what it says; `routed` when it was decided what becomes
    of it on each channel."""

    id: int = 0
    key: str
    subject: str
    rule: str
    what: str
    level: str
    text: str
    why: str
    remedy: str
    since: float
    resolved: int
    created: float
    routed: float | None = None


# That something flaps, when what flaps last began, and how it last ended.
Flapping = tuple[NotificationRow, float, int]


def queue(tx: Transaction, notification: Notification, at: float) -> None:
    """A notification, once, however often it is concluded; secrets that a job printed stay out."""
    from dogwatch.redaction import redacted

    if tx.query("SELECT 1 FROM notifications WHERE key = ?", notification.key):
        return
    row = NotificationRow(
        key=notification.key,
        subject=notification.subject,
        rule=notification.rule,
        what=notification.what,
        level=notification.level.value,
        text=redacted(notification.text),
        why=redacted(notification.why),
        remedy=redacted(notification.remedy),
        since=notification.since or at,
        resolved=int(notification.resolved),
        created=at,
    )
    tx.add(row)


def queue_all(store: Store, notifications: Iterable[Notification], at: float) -> None:
    """Something to be said that no tick concluded: of the alerts themselves."""
    with store.writing() as tx:
        for notification in notifications:
            queue(tx, notification, at)


def is_queued(store: Store, key: str) -> bool:
    """Whether a notification of that key was ever written."""
    with store.reading() as tx:
        return bool(tx.query("SELECT 1 FROM notifications WHERE key = ?", key))


def unrouted(store: Store, most: int | None = None) -> list[NotificationRow]:
    """Those of which it is not decided yet what becomes of them, oldest first."""
    limit = "" if most is None else f" LIMIT {most:d}"
    with store.reading() as tx:
        return tx.rows(NotificationRow, f"WHERE routed IS NULL ORDER BY id{limit}")


def mark_routed(tx: Transaction, id: int, at: float) -> NotificationRow | None:
    """The notification, if it was still to be routed; with the end of something its acknowledgement ends."""
    row = tx.row(NotificationRow, "WHERE id = ? AND routed IS NULL", id)
    if row is None:
        return None
    tx.change(row, routed=at)
    if row.resolved:
        end_acknowledgements(tx, (row.subject, row.rule, row.what), at)
    return row


def openings(store: Store, row: NotificationRow, since: float, until: float) -> int:
    """How often what a notification says had begun in that time, up to that one; a reminder is no beginning."""
    # `|| ''` keeps the index on rules out of it, which would find far more than the one on subjects.
    sql = (
        "SELECT count(DISTINCT since) FROM notifications WHERE subject = ? AND created BETWEEN ? AND ? AND id <= ? "
        "AND rule || '' = ? AND what || '' = ? AND resolved = 0"
    )
    with store.reading() as tx:
        count: int = tx.query(sql, row.subject, since, until, row.id, row.rule, row.what)[0][0]
    return count


def flapping(store: Store) -> list[Flapping]:
    """What flaps and was not said to be over."""
    live: dict[tuple[str, str], NotificationRow] = {}
    with store.reading() as tx:
        for row in tx.rows(NotificationRow, "WHERE rule = 'flapping' ORDER BY id"):
            live[row.subject, row.what] = row
            if row.resolved:
                del live[row.subject, row.what]
        return [(row, *_last_said(tx, row)) for row in live.values()]


def _last_said(tx: Transaction, flapping: NotificationRow) -> tuple[float, int]:
    rule, _, what = flapping.what.partition("\x1f")
    sql = (
        "SELECT created, resolved FROM notifications WHERE subject = ? AND rule || '' = ? AND what || '' = ? "
        "AND resolved {} 0 ORDER BY id DESC LIMIT 1"
    )
    began, ended = (tx.query(sql.format(how), flapping.subject, rule, what) for how in ("=", "<>"))
    return float(began[0][0] if began else flapping.created), ended[0][1] if ended else 1
