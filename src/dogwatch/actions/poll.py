"""A poll in a process of its own: whoever asked waits for it as long as they like, and it ends by itself."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress


def start(places: Sequence[str]) -> int:
    """Poll these places once, in a session of its own, so that Ctrl-C ends the waiting only. Returns a file descriptor
    that reads as closed once every answer that comes in time is in the store."""
    # -E and -P: neither PYTHONPATH nor the directory of the caller may lend it modules.
    argv = [sys.executable, "-E", "-P", "-m", "dogwatch.cli.poll_once", *places]
    ours, theirs = os.pipe()
    try:
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL, start_new_session=True
        )
    finally:
        os.close(theirs)
    return ours


def wait(descriptor: int, seconds: float) -> bool:
    """Wait for a poll at most so long; whether it was done by then."""
    with suppress(InterruptedError):
        ready, _, _ = select.select([descriptor], [], [], seconds)
        return bool(ready)
    return False
