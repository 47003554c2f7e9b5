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
from dogwatch.transport.child import open_pipe

LATE = 6 * DEADLINE  # by then a channel that keeps its deadline has answered
ABANDONED_MOST = 4


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one try at one message."""

    channel: str
    message: int
    receipt: Receipt


@dataclass(slots=True)
class _Sending:
    channel: str
    message: int
    until: float
    thread: threading.Thread | None = None


class Senders:
    """Takes messages and gives receipts. A channel has one message under way at a time; one that hangs keeps only
    its own thread, which does not keep the process, and is given up after a while."""

    def __init__(self) -> None:
        self._back: queue.SimpleQueue[tuple[_Sending, Receipt]] = queue.SimpleQueue()
        self._busy: dict[str, _Sending] = {}
        self._abandoned: dict[str, int] = {}
        self._ring_in, self._ring_out = open_pipe()

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
        return any(sending.message == message for sending in self._busy.values())

    def send(self, name: str, make: Callable[[], Channel], number: int, message: Message, here: bool = False) -> None:
        """Begin a try; `here` makes it in this thread, for a channel that never waits."""
        sending = self._busy[name] = _Sending(name, number, time.monotonic() + LATE)
        if here:
            self._run(sending, make, message)
            return
        sending.thread = threading.Thread(
            target=self._run, args=(sending, make, message), name=f"channel {name}", daemon=True
        )
        sending.thread.start()

    def back(self) -> list[Sent]:
        """The receipts that have come. One that had been given up still counts if it says that it was taken."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._ring_in, 4096)
        receipts = []
        while not self._back.empty():
            sending, receipt = self._back.get()
            if self._busy.get(sending.channel) is sending:
                del self._busy[sending.channel]
            else:
                self._abandoned[sending.channel] -= 1
                if not receipt.ok:
                    continue
            receipts.append(Sent(sending.channel, sending.message, receipt))
        return receipts + self._late()

    def _late(self) -> list[Sent]:
        now, given_up = time.monotonic(), []
        for name, sending in list(self._busy.items()):
            if now > sending.until and self._abandoned.get(name, 0) < ABANDONED_MOST:
                del self._busy[name]
                self._abandoned[name] = self._abandoned.get(name, 0) + 1
                given_up.append(Sent(name, sending.message, Receipt(False, f"the channel did not end in {LATE:g} s")))
        return given_up

    def wait(self, seconds: float) -> None:
        """Until nothing is under way any more, or so long."""
        until = time.monotonic() + seconds
        for sending in list(self._busy.values()):
            if sending.thread is not None:
                sending.thread.join(max(0.0, until - time.monotonic()))

    def wait_for_one(self, seconds: float) -> None:
        """Until a receipt has come, or so long."""
        select.select([self._ring_in], [], [], seconds)

    def _run(self, sending: _Sending, make: Callable[[], Channel], message: Message) -> None:
        try:
            receipt = make().deliver(message)
        except NoSecret as missing:
            receipt = Receipt(False, str(missing))
        except BaseException as error:  # noqa: BLE001 - a channel of somebody else's must not end the watching
            receipt = Receipt(False, f"the channel failed: {type(error).__name__}")
        self._back.put((sending, receipt))
        with contextlib.suppress(OSError):  # full: it is ringing already
            os.write(self._ring_out, b".")
