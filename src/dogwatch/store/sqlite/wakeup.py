"""The wake-up: a FIFO by which anybody of this home tells the watcher that there is something to see."""

from __future__ import annotations

import os
import stat

from dogwatch.errors import HomeRefused
from dogwatch.store.private_files import OpenFile
from dogwatch.store.sqlite import faults

NAME = "wake"  # the supervisor of a run knows it by that name too


def wake(home: str) -> None:
    """Wake the watcher; never blocks, and is silent when nobody listens."""
    try:
        fd = os.open(os.path.join(home, NAME), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, b"!")
    except OSError:  # full: it is awake already
        return
    finally:
        os.close(fd)


class WakeUp(OpenFile):
    """The listening end, to be waited on with select; made if it is not there."""

    def __init__(self, home: str) -> None:
        path = os.path.join(home, NAME)
        try:
            _make(path)
            # Read-write, so that the last caller's close is not an end of file.
            fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise faults.of_os(error, path) from error
        super().__init__(fd)
        if not stat.S_ISFIFO(os.fstat(fd).st_mode):
            self.close()
            raise HomeRefused(f"{path} is not a FIFO: move it away.")

    def clear(self) -> bool:
        """Take the calls that have come; whether there was one."""
        called = False
        while True:
            try:
                called = bool(os.read(self._fd, 65536)) or called
            except BlockingIOError:
                return called


def _make(path: str) -> None:
    try:
        os.mkfifo(path, 0o600)
        os.chmod(path, 0o600)
    except FileExistsError:
        pass
