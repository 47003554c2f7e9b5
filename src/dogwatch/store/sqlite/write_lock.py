"""The write lock: an flock that writers queue for before SQLite's own lock.

SQLite's busy handler sleeps ever longer and starves whoever waited longest; and a repair, which replaces
the file under everybody, needs a lock that does not live in the file.
"""

from __future__ import annotations

import fcntl
import os
import select
import time

from dogwatch.errors import StoreError
from dogwatch.store.private_files import open_private
from dogwatch.store.sqlite import faults

NAME = "write.lock"
WAIT_SECONDS = 30.0
_PAUSE = 0.002


def acquire(home: str, seconds: float = WAIT_SECONDS) -> int:
    """A descriptor that holds the lock until it is closed; StoreError when others keep it too long."""
    path = os.path.join(home, NAME)
    try:
        fd = _open(path)
    except OSError as error:
        raise faults.of_os(error, path) from error
    limit = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            if time.monotonic() > limit:
                os.close(fd)
                raise StoreError(
                    f"Another process has been writing to the store in {home} for {seconds:g} s: try again, "
                    "or check whether one hangs."
                ) from None
            # Not time.sleep: since Python 3.11 that sleeps until a moment, which libfaketime refuses once a clock was
            # set, and a watcher must outlive that.
            select.select((), (), (), _PAUSE)


def _open(path: str) -> int:
    """Made with the store; opening it takes nothing from a full disk, nor from a read-only one."""
    try:
        return open_private(path, os.O_RDONLY)
    except FileNotFoundError:
        return open_private(path, os.O_RDONLY | os.O_CREAT)
