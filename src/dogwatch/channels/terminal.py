"""The terminal: a line on the stream that the watcher itself was started with."""

from __future__ import annotations

from typing import TextIO

from dogwatch.channels.interface import Receipt
from dogwatch.model import Notice
from dogwatch.text import plain


class Terminal:
    """Says a notice as one clean line. Without a stream the live screen has already shown it."""

    kind = "terminal"

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def deliver(self, notice: Notice) -> Receipt:
        if self._stream is None:
            return Receipt(True, "shown on the live screen")
        try:
            print(
                f"{notice.level.value}: {plain(notice.subject)}: {plain(notice.text)}",
                file=self._stream,
                flush=True,
            )
        except (OSError, ValueError) as error:  # the terminal went away, or its file is closed
            return Receipt(False, f"the terminal is gone: {error}", permanent=True)
        return Receipt(True)
