"""What several tests share: waiting for something to become true instead of sleeping, and a clock to put forward."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable
from typing import TypeVar

from dogwatch import aboard
from dogwatch.clock import Clock

T = TypeVar("T")


def wait_until(predicate: Callable[[], T], timeout: float = 20.0, pause: float = 0.02) -> T:
    """Return the first true answer of `predicate`, or fail with its last one after `timeout` seconds."""
    limit = time.monotonic() + timeout
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > limit:
            raise AssertionError(f"still {answer!r} after {timeout} s")
        time.sleep(pause)


class Ahead(Clock):
    """The real clock, put forward by hand."""

    by = 0.0

    def now(self) -> float:
        return super().now() + self.by

    def mono(self) -> float:
        return super().mono() + self.by


def with_the_probe(name: str) -> bytes:
    """An errand as it finds itself where it is run: behind the text of the probe, whose names it may use."""
    return aboard.probe_text() + zlib.decompress(base64.b64decode(aboard.errand(name)))
