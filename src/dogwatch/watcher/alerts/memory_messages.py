"""Messages that exist in memory only, while the store takes no writes: one alert that says so, and what was written
before. What was sent from here is recorded as sent when the ordinary way comes to it."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.digest import key_of
from dogwatch.model import Level
from dogwatch.redaction import redacted
from dogwatch.store.rows.channels import OPEN, SENT, MessageRow
from dogwatch.store.rows.deliveries import Try, message_token
from dogwatch.store.rows.notifications import NotificationRow

STORE_FULL = "store_full"
SENT_FROM_MEMORY = "sent while the store could not be written"


def unwritable(why: str, at: float) -> NotificationRow:
    """The alert that the store takes no writes."""
    text = f"the store cannot be written; what is found from now on is sent when it can be written again: {why}"
    key = key_of(STORE_FULL, repr(at))
    return NotificationRow(
        key=key,
        subject="watch",
        rule=STORE_FULL,
        what="",
        level=Level.CRITICAL.value,
        text=redacted(text),
        why="",
        remedy="",
        since=at,
        resolved=0,
        created=at,
    )


class MemoryMessages:
    """After a kill they are made again from the same notifications, with the same tokens."""

    def __init__(self) -> None:
        # By numbers that no row of the store has.
        self._open: dict[int, tuple[MessageRow, Sequence[NotificationRow]]] = {}
        self._composed: set[tuple[str, str]] = set()  # (channel, notification), whatever came of it
        self._sent: set[tuple[str, str]] = set()
        self._number = 0

    def compose(self, channel: str, notifications: Sequence[NotificationRow], at: float) -> None:
        """A message of those that are in none yet."""
        fresh = [about for about in notifications if (channel, _name(about)) not in self._composed]
        if not fresh:
            return
        self._number -= 1
        token = message_token(channel, fresh)
        self._open[self._number] = MessageRow(key=self._number, token=token, channel=channel, created=at, due=at), fresh
        self._composed |= {(channel, _name(about)) for about in fresh}

    def rows(self) -> list[MessageRow]:
        """The messages that nobody has taken yet."""
        return [row for row, _ in self._open.values()]

    def row(self, number: int) -> MessageRow | None:
        return self._open[number][0] if number in self._open else None

    def notifications(self, number: int) -> Sequence[NotificationRow]:
        """What one of them says; nothing of one that is in the store."""
        return self._open[number][1] if number in self._open else ()

    def tried(self, number: int, last: Try) -> None:
        row, notifications = self._open.pop(number)
        if last.state == OPEN:
            self._open[number] = row.replaced({"due": last.due, "tries": row.tries + 1}), notifications
        elif last.state == SENT:
            self._sent |= {(row.channel, _name(about)) for about in notifications}

    @property
    def any_sent(self) -> bool:
        return bool(self._sent)

    def was_sent(self, channel: str, about: NotificationRow) -> bool:
        """Whether a channel has taken from here what a notification says."""
        return (channel, _name(about)) in self._sent

    def written(self, refused: bool) -> None:
        """The store took what the outbox had to write, so that leaves the ordinary way; while it refused a tick, the
        alert about that stays."""
        self._open = {
            number: (row, notifications)
            for number, (row, notifications) in self._open.items()
            if refused and notifications[0].rule == STORE_FULL
        }
        self._composed = {pair for pair in self._composed if refused and pair[1] == STORE_FULL}

    def forget_alert(self) -> None:
        """The store takes writes: that it takes none would be said anew."""
        self._sent = {pair for pair in self._sent if pair[1] != STORE_FULL}

    def forget(self) -> None:
        """Everything is recorded."""
        self._open.clear()
        self._composed.clear()
        self._sent.clear()


def _name(about: NotificationRow) -> str:
    """Its key; that the store takes no writes is one thing, whoever notices it."""
    return STORE_FULL if about.rule == STORE_FULL and not about.resolved else about.key
