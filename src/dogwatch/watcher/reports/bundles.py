"""Bundles: after a failure the diagnostics are gathered by a thread of its own, so that no tick waits for them."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

from dogwatch.errors import DogwatchError
from dogwatch.model.outcome import GOOD
from dogwatch.watcher.tick.conclude import TickResult
from dogwatch.watcher.tick.follow_up import MOST_BUNDLES, NO_BUNDLE
from dogwatch.wire.answer import CheckedAnswer

END_TIMEOUT = 4.0  # seconds for bundles that are being made when the watching ends


class Bundles:
    """Makes a bundle of each job that ended badly, one after the other; `make` is given the ref and what the poll and
    its follow-up brought of the place, so that nobody is asked again."""

    def __init__(
        self, make: Callable[[str, CheckedAnswer | None], None], narrate: Callable[[str], None] = lambda text: None
    ) -> None:
        self._make, self._narrate = make, narrate
        self._waiting: queue.Queue[tuple[str, CheckedAnswer | None]] = queue.Queue(MOST_BUNDLES)
        self._thread: threading.Thread | None = None

    def take(self, result: TickResult) -> None:
        """What a committed round says has failed."""
        for ref in failed(result):
            with contextlib.suppress(queue.Full):
                self._waiting.put_nowait((ref, result.gathered.get(ref)))
        if not self._waiting.empty() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name="bundles", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Let those that are under way be finished, if it is soon."""
        if self._thread is not None:
            self._thread.join(END_TIMEOUT)

    def _run(self) -> None:
        while True:
            try:
                ref, gathered = self._waiting.get(timeout=0.05)
            except queue.Empty:
                return
            try:
                self._make(ref, gathered)
            except DogwatchError as error:  # the watching does not depend on it
                self._narrate(f"no diagnostics bundle of {ref}: {error}")


def failed(result: TickResult) -> list[str]:
    """The refs of jobs that this round found to have ended badly, or to have left too little."""
    return [ref for ref, known in result.endings.items() if known.outcome not in (*GOOD, *NO_BUNDLE)]
