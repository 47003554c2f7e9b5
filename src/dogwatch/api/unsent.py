"""Unsent: what a command that leaves says of alerts that nobody has received."""

from __future__ import annotations

import os
from collections.abc import Iterator

from dogwatch.store import DAEMON
from dogwatch.store.interface import Store
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries, notifications
from dogwatch.text import plain

NO_ANSWER = "it has not answered yet"
NEXT = "the next dogwatch daemon, watch or patrol sends"


def waiting(store: Store) -> bool:
    """Whether anything is still to be sent."""
    _, open_deliveries, _ = deliveries.pending(store)
    return bool(open_deliveries or deliveries.channel_messages(store))


def sentences(store: Store, since: float) -> list[str]:
    """One for each channel and reason: how many alerts were not sent, why, and how they will be. None of what another
    watcher sends; of what was given up, only what was since a time."""
    holder = store.location.holder()
    if store.location.held(single_poll=True) if holder is None else holder.pid != os.getpid():
        return []
    then = "the daemon that waits sends" if store.location.held(DAEMON) else NEXT
    counted: dict[tuple[str, str, str], int] = {}
    for channel, why, how, count in [*_open(store, then), *_given_up(store, since)]:
        counted[channel, why, how] = counted.get((channel, why, how), 0) + count
    return [
        f"{count} alert{'s were' if count > 1 else ' was'} not sent to {plain(channel, 60)}: {plain(why, 200)}; "
        f"{how} {'them' if count > 1 else 'it'}"
        for (channel, why, how), count in counted.items()
    ]


Row = tuple[str, str, str, int]


def _open(store: Store, then: str) -> Iterator[Row]:
    channels = channel_rows.channels(store)
    for notification in notifications.unrouted(store) if channels else ():
        for row in channels:
            if row.after < notification.id:
                yield row.name, "it was found just before this command ended", then, 1
    for delivery in deliveries.open_deliveries(store):
        yield delivery.channel, delivery.decision.reason, then, 1
    for message in deliveries.channel_messages(store):
        count = len(deliveries.notifications_of(store, message.key))
        yield message.channel, message.detail or NO_ANSWER, then, count


def _given_up(store: Store, since: float) -> Iterator[Row]:
    for row in deliveries.channel_messages(store, channel_rows.DEAD):
        if (row.settled or 0.0) >= since and row.detail != channel_rows.REMOVED:
            count = len(deliveries.notifications_of(store, row.key))
            yield row.channel, row.detail, "`dogwatch alerts retry` and a new patrol send", count
