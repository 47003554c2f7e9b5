"""Files and directories of ours alone, and how they are written so that a power cut leaves all or nothing."""

from __future__ import annotations

import errno
import os
import stat

from dogwatch.errors import StoreError, StoreFull, StoreReadOnly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class OpenFile:
    """An open file that is closed once, at the end of a block or before."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()


def open_private(path: str, flags: int) -> int:
    """Open a file of the home, created 0600 whatever the umask; never through a link."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if flags & os.O_CREAT and stat.S_IMODE(os.fstat(fd).st_mode) != 0o600:
        os.fchmod(fd, 0o600)
    return fd


def make_private(path: str) -> None:
    """A directory of ours alone inside the home."""
    try:
        os.mkdir(path, 0o700)
        os.chmod(path, 0o700)
    except FileExistsError:
        pass


def write_durably(path: str, content: bytes) -> None:
    """Replace a file whole: temporary, fsync, rename, fsync of the directory."""
    draft = f"{path}.new"  # callers hold a lock, so a draft that a kill left is the next one's
    fd = open_private(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        os.write(fd, content)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(draft, path)
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def of_os(error: OSError, path: str) -> StoreError:
    """Our error for the operating system's, about a file of the store."""
    if error.errno in NO_ROOM:
        return full(path)
    if error.errno == errno.EROFS:
        return read_only(path)
    return StoreError(f"{path}: {error.strerror or error}.")


def full(path: str) -> StoreFull:
    return StoreFull(
        f"There is no room for the store on the disk of {os.path.dirname(path)}: free some space or inodes; "
        "what was not written will be tried again."
    )


def read_only(path: str) -> StoreReadOnly:
    return StoreReadOnly(
        f"The disk of {os.path.dirname(path)} takes no writes (read-only): remount it or set DOGWATCH_HOME."
    )
