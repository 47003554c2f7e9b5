"""The disk reserve: a mebibyte set aside, because on a full disk even a DELETE needs room."""

from __future__ import annotations

import os

from dogwatch.store.private_files import open_private
from dogwatch.store.sqlite import faults

NAME = "reserve"
SIZE = 1024 * 1024


def allocate(home: str) -> None:
    """Set the reserve aside on the disk itself; StoreFull when there is no room for it."""
    path = os.path.join(home, NAME)
    if allocated(home):
        return
    try:
        fd = open_private(path, os.O_CREAT | os.O_WRONLY)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, SIZE)
            else:  # macOS
                os.pwrite(fd, bytes(SIZE), 0)
        finally:
            os.close(fd)
    except OSError as error:
        release(home)
        raise faults.of_os(error, path) from error


def release(home: str) -> bool:
    """Give the reserve up to make room; whether there was one."""
    try:
        os.unlink(os.path.join(home, NAME))
    except OSError:
        return False
    return True


def allocated(home: str) -> bool:
    try:
        return os.stat(os.path.join(home, NAME)).st_blocks * 512 >= SIZE
    except OSError:
        return False
