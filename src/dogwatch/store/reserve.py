"""The reserve: a mebibyte set aside, because on a full disk even a DELETE needs room."""

from __future__ import annotations

import os

from dogwatch.store import faults
from dogwatch.store.home import open_private

NAME = "reserve"
SIZE = 1024 * 1024


def lay(home: str) -> None:
    """Set the reserve aside, really allocated; StoreFull when there is no room for it."""
    path = os.path.join(home, NAME)
    if laid(home):
        return
    try:
        fd = open_private(path, os.O_CREAT | os.O_WRONLY)
        try:
            os.posix_fallocate(fd, 0, SIZE)
        finally:
            os.close(fd)
    except OSError as error:
        spend(home)
        raise faults.of_os(error, path) from error


def spend(home: str) -> bool:
    """Give the reserve up to make room; whether there was one."""
    try:
        os.unlink(os.path.join(home, NAME))
    except OSError:
        return False
    return True


def laid(home: str) -> bool:
    try:
        return os.stat(os.path.join(home, NAME)).st_blocks * 512 >= SIZE
    except OSError:
        return False
