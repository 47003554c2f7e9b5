"""The heartbeat: a sign of life to a dead-man's switch, sent only after a poll that was of use, and only while
somebody would hear of what it finds: where every channel has failed for a while, silence is the last word left."""

from __future__ import annotations

import threading
from collections.abc import Callable

Narrate = Callable[[str], None]
MUTE = 600.0  # seconds for which no channel took anything before the heartbeat stops on purpose
WITHHELD = "the heartbeat is withheld: no alert was delivered for ten minutes (`dogwatch alerts`)"


class Heartbeat:
    """Sends at most every so often, in a thread of its own. Only 2xx counts; a trouble is told once."""

    def __init__(self, url: Callable[[], str] | None, every: float, narrate: Narrate) -> None:
        self._url, self._every, self._narrate = url, every, narrate
        self._last = float("-inf")
        self._thread: threading.Thread | None = None
        self._trouble = ""

    def tune(self, url: Callable[[], str] | None, every: float) -> None:
        """Another switch, or none, from now on."""
        self._url, self._every = url, every

    def useful(self, mono: float, mute: float = 0.0) -> None:
        """Something was seen; `mute` is for how many seconds nobody could be told of what was found."""
        if mute >= MUTE:
            if self._trouble != WITHHELD:
                self._narrate(WITHHELD)
            self._trouble = WITHHELD
            return
        busy = self._thread is not None and self._thread.is_alive()
        if busy or mono - self._last < self._every:
            return
        self._last = mono
        self._thread = threading.Thread(target=self._send, name="heartbeat", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """For what is under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def due(self) -> float:
        """When the next is, by the clock that nobody sets."""
        return float("inf") if self._url is None else self._last + self._every

    def _send(self) -> None:
        url = self._url
        trouble = "" if url is None else self._try(url)
        if trouble and trouble != self._trouble:
            self._narrate(f"the heartbeat did not arrive: {trouble}")
        self._trouble = trouble

    def _try(self, read: Callable[[], str]) -> str:
        from dogwatch.channels.http import Unsent, host_of, post  # with TLS, which most watchers never need
        from dogwatch.secret import NoSecret

        try:
            url = read()
            reply = post(url, b"", {})
        except (Unsent, NoSecret) as error:
            return str(error)
        return "" if 200 <= reply.status < 300 else f"{host_of(url)} answered {reply.status}"
