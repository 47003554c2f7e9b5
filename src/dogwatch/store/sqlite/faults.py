"""What SQLite's errors mean for us, each as one sentence that says what to do."""

from __future__ import annotations

import errno
import os
import sqlite3

from dogwatch.errors import StoreDamaged, StoreError, StoreGone
from dogwatch.store.private_files import NO_ROOM, full, of_os, read_only
from dogwatch.store.rows.row import REMEDY

__all__ = ["damaged", "full", "gone", "of_os", "read_only", "spoils", "translate"]
FULL, CORRUPT, NOTADB, READONLY, IOERR, CANTOPEN, BUSY = 13, 11, 26, 8, 10, 14, 5
DBMOVED = 1032
NOT_WRITABLE = (CANTOPEN, READONLY, IOERR, FULL)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_BROKEN = ("no such table", "no such column", "no such index", "could not decode to utf-8", "malformed json")


# A damaged schema ends up in SQLite's own message, which the driver then cannot decode.
FAILURES = (sqlite3.Error, UnicodeDecodeError)


def code(error: Exception) -> int:
    """SQLite's extended result code, 0 where the driver raised by itself."""
    return getattr(error, "sqlite_errorcode", None) or 0


def spoils(error: Exception) -> bool:
    """Whether the connection must not be used again: after a failed fsync the kernel has dropped the
    dirty pages, and the next fsync on the same descriptor would claim success."""
    return code(error) & 0xFF in (IOERR, CORRUPT, NOTADB, CANTOPEN, READONLY)


def translate(error: Exception, path: str) -> StoreError:
    """Our error for SQLite's."""
    extended = code(error)
    if extended == DBMOVED:
        return gone(path)
    match extended & 0xFF:
        case 13:
            return full(path)
        case 11 | 26:
            return damaged(path, str(error))
        case 5 | 6:
            return StoreError(f"{path} was kept busy by another process for too long ({error}); try again.")
        case 8 | 10 | 14:
            return _of_the_disk(error, path)
    broken = isinstance(error, (UnicodeDecodeError, sqlite3.DataError, sqlite3.IntegrityError))
    if broken or str(error).lower().startswith(_BROKEN):
        return damaged(path, str(error))
    return StoreError(f"{path} could not be used: {error}.")


def gone(path: str) -> StoreGone:
    return StoreGone(
        f"{path} was deleted or replaced while in use, and an empty store is not the same thing; {REMEDY}."
    )


def damaged(path: str, why: str) -> StoreDamaged:
    return StoreDamaged(f"{path} is damaged ({why}); {REMEDY}.")


def _of_the_disk(error: Exception, path: str) -> StoreError:
    """SQLite hides errno, so a small write of our own asks the disk what is wrong."""
    if not os.path.exists(path):
        return gone(path)
    reason = _try_the_disk(path)
    if reason in NO_ROOM:
        return full(path)
    if reason in _READ_ONLY or (code(error) & 0xFF) == READONLY:
        return read_only(path)
    return StoreError(
        f"{path} could not be read or written ({error}); the last write may or may not have been recorded: "
        "check the disk (dmesg) and try again."
    )


def _try_the_disk(path: str) -> int | None:
    """The errno of writing a block as far out as the store reaches, or None when that works."""
    trial = f"{path}.trial-{os.getpid()}"
    try:
        fd = os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return error.errno
    try:
        transport = max(os.stat(name).st_size for name in (path, path + "-wal") if os.path.exists(name))
        if os.pwrite(fd, bytes(65536), transport) < 65536:
            return errno.ENOSPC
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)
        os.unlink(trial)
    return None
