"""Deliver: say the queued notices, then record that they were said. Never the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dogwatch.channels.interface import Channel, Receipt
from dogwatch.clock import Clock
from dogwatch.errors import StoreError
from dogwatch.model import Item, Level, Message
from dogwatch.store import notices
from dogwatch.store.database import Store
from dogwatch.store.jobs import name_of


class Delivery:
    """Tries every queued notice on every channel: at least once, and twice only after a crash in between.
    What was said and could not be recorded (a full disk) is remembered, and only recorded the next time."""

    def __init__(self, store: Store, channels: Sequence[Channel], clock: Clock) -> None:
        self._store, self._channels, self._clock = store, channels, clock
        self._said: dict[tuple[int, str], tuple[float, Receipt]] = {}

    def deliver(self) -> None:
        if not self._channels:
            return
        trouble = self._record()  # what was said before, and is still on the queue because of that
        for row in notices.queued(self._store):
            for channel in self._channels:
                self._say(row, channel)
                trouble = trouble or self._record()  # before the next is said: a kill repeats one at the most
        if trouble is not None:
            raise trouble

    def _record(self) -> StoreError | None:
        """Note what was said; on a full disk that fails, and the saying goes on."""
        for (id, kind), (at, receipt) in list(self._said.items()):
            done = receipt.ok or receipt.permanent
            try:
                notices.delivered(self._store, id, kind, at, receipt.ok, receipt.detail, done)
            except StoreError as error:
                return error
            del self._said[id, kind]
        return None

    def _say(self, row: dict[str, Any], channel: Channel) -> None:
        if (row["id"], channel.kind) not in self._said:
            level, at = Level(row["level"]), row["created"]
            name = name_of(self._store, row["subject"]) or row["subject"]
            item = Item(row["key"], row["subject"], name, level, "", row["text"], at)
            self._said[row["id"], channel.kind] = self._clock.now(), channel.deliver(Message(row["key"], (item,), at))
