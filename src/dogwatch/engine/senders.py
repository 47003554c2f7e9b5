"""Senders: one thread for each channel that has something to say, so that no channel waits for another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from dogwatch.channels.interface import Channel, Receipt
from dogwatch.model import Message
from dogwatch.secret import NoSecret

Wake = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one try at one message."""

    channel: str
    message: int
    receipt: Receipt


class Senders:
    """Takes messages and gives receipts. A channel has one message under way at a time; one that hangs keeps only
    its own thread, which does not keep the process."""

    def __init__(self, wake: Wake = lambda: None) -> None:
        self._back: queue.SimpleQueue[Sent] = queue.SimpleQueue()
        self._busy: dict[str, threading.Thread] = {}
        self._wake = wake

    def busy(self, channel: str) -> bool:
        """Until its receipt was taken: a thread that has ended has not been heard yet."""
        return channel in self._busy

    def send(self, name: str, make: Callable[[], Channel], number: int, message: Message) -> None:
        thread = threading.Thread(
            target=self._run, args=(name, make, number, message), name=f"channel {name}", daemon=True
        )
        self._busy[name] = thread
        thread.start()

    def back(self) -> list[Sent]:
        found = []
        while not self._back.empty():
            found.append(self._back.get())
            del self._busy[found[-1].channel]
        return found

    def wait(self, seconds: float) -> None:
        """Until nothing is under way any more, or so long."""
        for thread in list(self._busy.values()):
            thread.join(seconds)

    def _run(self, name: str, make: Callable[[], Channel], number: int, message: Message) -> None:
        try:
            receipt = make().deliver(message)
        except NoSecret as missing:
            receipt = Receipt(False, str(missing))
        except Exception as error:  # noqa: BLE001 - a channel of somebody else's must not end the watching
            receipt = Receipt(False, f"the channel failed: {type(error).__name__}")
        self._back.put(Sent(name, number, receipt))
        self._wake()
