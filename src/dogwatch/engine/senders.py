"""Senders: one thread for each channel that has something to say, so that no channel waits for another."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from dogwatch.channels.interface import DEADLINE, Channel, Receipt
from dogwatch.model import Message
from dogwatch.secret import NoSecret

LATE = 6 * DEADLINE  # by then a channel that keeps its deadline has answered
ABANDONED_MOST = 4


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one try at one message."""

    channel: str
    message: int
    receipt: Receipt


@dataclass(slots=True)
class _Errand:
    channel: str
    message: int
    until: float
    thread: threading.Thread | None = None


class Senders:
    """Takes messages and gives receipts. A channel has one message under way at a time; one that hangs keeps only
    its own thread, which does not keep the process, and is given up after a while."""

    def __init__(self) -> None:
        self._back: queue.SimpleQueue[tuple[_Errand, Receipt]] = queue.SimpleQueue()
        self._busy: dict[str, _Errand] = {}
        self._abandoned: dict[str, int] = {}
        self._ring_in, self._ring_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Readable when a receipt has come back."""
        return self._ring_in

    def busy(self, channel: str) -> bool:
        """Until its receipt was taken: a thread that has ended has not been heard yet."""
        return channel in self._busy

    @property
    def any_busy(self) -> bool:
        return bool(self._busy)

    def under_way(self, message: int) -> bool:
        return any(errand.message == message for errand in self._busy.values())

    def send(self, name: str, make: Callable[[], Channel], number: int, message: Message) -> None:
        errand = self._busy[name] = _Errand(name, number, time.monotonic() + LATE)
        errand.thread = threading.Thread(
            target=self._run, args=(errand, make, message), name=f"channel {name}", daemon=True
        )
        errand.thread.start()

    def back(self) -> list[Sent]:
        """The receipts that have come. One that had been given up still counts if it says that it was taken."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._ring_in, 4096)
        found = []
        while not self._back.empty():
            errand, receipt = self._back.get()
            if self._busy.get(errand.channel) is errand:
                del self._busy[errand.channel]
            else:
                self._abandoned[errand.channel] -= 1
                if not receipt.ok:
                    continue
            found.append(Sent(errand.channel, errand.message, receipt))
        return found + self._late()

    def _late(self) -> list[Sent]:
        now, found = time.monotonic(), []
        for name, errand in list(self._busy.items()):
            if now > errand.until and self._abandoned.get(name, 0) < ABANDONED_MOST:
                del self._busy[name]
                self._abandoned[name] = self._abandoned.get(name, 0) + 1
                found.append(Sent(name, errand.message, Receipt(False, f"the channel did not end in {LATE:g} s")))
        return found

    def wait(self, seconds: float) -> None:
        """Until nothing is under way any more, or so long."""
        until = time.monotonic() + seconds
        for errand in list(self._busy.values()):
            if errand.thread is not None:
                errand.thread.join(max(0.0, until - time.monotonic()))

    def wait_for_one(self, seconds: float) -> None:
        """Until a receipt has come, or so long."""
        select.select([self._ring_in], [], [], seconds)

    def _run(self, errand: _Errand, make: Callable[[], Channel], message: Message) -> None:
        try:
            receipt = make().deliver(message)
        except NoSecret as missing:
            receipt = Receipt(False, str(missing))
        except BaseException as error:  # noqa: BLE001 - a channel of somebody else's must not end the watching
            receipt = Receipt(False, f"the channel failed: {type(error).__name__}")
        self._back.put((errand, receipt))
        with contextlib.suppress(OSError):  # full: it is ringing already
            os.write(self._ring_out, b".")
