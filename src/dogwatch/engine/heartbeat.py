"""The heartbeat: a sign of life to a dead-man's switch, sent only after a look that was of use."""

from __future__ import annotations

import threading
from collections.abc import Callable

from dogwatch.channels.http import Unsent, host_of, post

Narrate = Callable[[str], None]


class Heartbeat:
    """Sends at most every so often, in a thread of its own. Only 2xx counts; a trouble is told once."""

    def __init__(self, url: Callable[[], str], every: float, narrate: Narrate) -> None:
        self._url, self._every, self._narrate = url, every, narrate
        self._last = float("-inf")
        self._thread: threading.Thread | None = None
        self._trouble = ""

    def useful(self, mono: float) -> None:
        """Something was seen."""
        busy = self._thread is not None and self._thread.is_alive()
        if busy or mono - self._last < self._every:
            return
        self._last = mono
        self._thread = threading.Thread(target=self._send, name="heartbeat", daemon=True)
        self._thread.start()

    def _send(self) -> None:
        trouble = self._try()
        if trouble and trouble != self._trouble:
            self._narrate(f"the heartbeat did not arrive: {trouble}")
        self._trouble = trouble

    def _try(self) -> str:
        from dogwatch.secret import NoSecret

        try:
            url = self._url()
            reply = post(url, b"", {})
        except (Unsent, NoSecret) as error:
            return str(error)
        return "" if 200 <= reply.status < 300 else f"{host_of(url)} said {reply.status}"
