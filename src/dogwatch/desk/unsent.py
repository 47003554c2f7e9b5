"""Unsent: what a command that leaves says of alerts that nobody has received."""

from __future__ import annotations

import os
from collections.abc import Iterator

from dogwatch.store import alerts, lease
from dogwatch.store.database import Store
from dogwatch.text import plain

NO_ANSWER = "it has not answered yet"
NEXT = "the next dogwatch daemon, watch or patrol sends"


def waiting(store: Store) -> bool:
    """Whether anything is still to be sent."""
    _, letters, messages = alerts.pending(store)
    return bool(letters or messages)


def sentences(store: Store, since: float) -> list[str]:
    """One for each channel and reason: how many alerts were not sent, why, and how they will be. None of what another
    watcher sends; of what was given up, only what was since a time."""
    holder = lease.holder(store.home)
    if holder is not None and holder.get("pid") != os.getpid():
        return []
    then = "the daemon that waits sends" if lease.has_daemon(store.home) else NEXT
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
    channels = alerts.channels(store)
    for notice in alerts.unrouted(store) if channels else ():
        for row in channels:
            if row["after"] < notice["id"]:
                yield row["name"], "it was found only now", then, 1
    for letter in alerts.open_letters(store):
        yield letter["channel"], letter["reason"], then, 1
    for row in alerts.messages(store):
        yield row["channel"], row["detail"] or NO_ANSWER, then, len(alerts.notices_of(store, row["key"]))


def _given_up(store: Store, since: float) -> Iterator[Row]:
    for row in alerts.messages(store, alerts.DEAD):
        if (row["settled"] or 0.0) >= since and row["detail"] != alerts.REMOVED:
            count = len(alerts.notices_of(store, row["key"]))
            yield row["channel"], row["detail"], "`dogwatch alerts retry` and a new patrol send", count
