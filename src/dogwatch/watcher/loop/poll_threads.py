"""Polls under way, each in a thread of its own, so that a place that hangs delays no other."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque
from typing import TYPE_CHECKING

from dogwatch.transport.child import open_pipe

if TYPE_CHECKING:
    from dogwatch.watcher.tick.place_poller import PlacePoller, PollResult


class PollThreads:
    """Sends looks out and takes them back in the loop's own thread. A scout only looks: what it brings, be it a bug, is
    concluded and committed by whoever called `back()`."""

    def __init__(self) -> None:
        self._back: deque[tuple[PlacePoller, PollResult | Exception]] = deque()
        self._out: set[str] = set()
        self._ring_in, self._ring_out = open_pipe()

    def fileno(self) -> int:
        return self._ring_in

    def is_out(self, poller: PlacePoller) -> bool:
        return poller.place.name in self._out

    def send(self, poller: PlacePoller) -> None:
        self._out.add(poller.place.name)
        threading.Thread(target=self._go, args=(poller,), name=f"poll {poller.place.name}", daemon=True).start()

    def back(self) -> list[tuple[PlacePoller, PollResult | Exception]]:
        """The looks that have come back, or what was raised instead of one."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._ring_in, 4096)
        came = []
        while self._back:
            poller, looked = self._back.popleft()
            self._out.discard(poller.place.name)
            came.append((poller, looked))
        return came

    def wait(self) -> None:
        """Until at least one that is out has come back; every poll has a deadline of its own."""
        if self._out:
            select.select([self._ring_in], [], [])

    @property
    def all_back(self) -> bool:
        return not self._out

    def _go(self, poller: PlacePoller) -> None:
        brought: PollResult | Exception
        try:
            brought = poller.look()
        except Exception as bug:  # noqa: BLE001 - carried to the loop's thread, where it fails this poll
            brought = bug
        self._back.append((poller, brought))
        os.write(self._ring_out, b".")
