"""What several tests share: waiting for something to become true instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

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
