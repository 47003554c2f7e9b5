"""The bell: a FIFO by which anybody of this home tells the watcher that there is something to see."""

from __future__ import annotations

import os
import stat

from dogwatch.errors import HomeRefused
from dogwatch.store import faults

NAME = "wake"


def ring(home: str) -> None:
    """Wake the watcher; never blocks, and is silent when nobody listens."""
    try:
        fd = os.open(os.path.join(home, NAME), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, b"!")
    except OSError:  # full: it is ringing already
        return
    finally:
        os.close(fd)


class Bell:
    """The listening end, to be waited on with select; made if it is not there."""

    def __init__(self, home: str) -> None:
        path = os.path.join(home, NAME)
        try:
            _lay(path)
            # Read-write, so that the last ringer's close is not an end of file.
            self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise faults.of_os(error, path) from error
        if not stat.S_ISFIFO(os.fstat(self._fd).st_mode):
            self.close()
            raise HomeRefused(f"{path} is not a FIFO: move it away.")

    def fileno(self) -> int:
        return self._fd

    def clear(self) -> bool:
        """Stop the ringing; whether it rang."""
        rang = False
        while True:
            try:
                rang = bool(os.read(self._fd, 65536)) or rang
            except BlockingIOError:
                return rang

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Bell:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()


def _lay(path: str) -> None:
    try:
        os.mkfifo(path, 0o600)
        os.chmod(path, 0o600)
    except FileExistsError:
        pass
