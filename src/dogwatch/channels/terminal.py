"""The terminal: a line on the stream that the watcher itself was started with."""

from __future__ import annotations

from typing import TextIO

from dogwatch.channels.interface import Receipt
from dogwatch.clock import local
from dogwatch.model import Message
from dogwatch.text import plain


class Terminal:
    """Says each notification as one clean line. Without a stream the live screen has already shown it."""

    kind = "terminal"

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def deliver(self, message: Message) -> Receipt:
        if self._stream is None:
            return Receipt(True, "shown on the live screen")
        try:
            for item in message.items:
                who = (
                    plain(item.subject) if item.name == item.subject else f"{plain(item.name)} ({plain(item.subject)})"
                )
                when = local(message.at, 0.0, seconds=True)  # with its date: this is a log that grows for days
                line = f"{when} {item.level.value}: {who}: {plain(item.text)}"
                print(line, file=self._stream, flush=True)
        except (OSError, ValueError) as error:  # the terminal went away, or its file is closed
            return Receipt(False, f"the terminal is gone: {error}", permanent=True)
        return Receipt(True)
