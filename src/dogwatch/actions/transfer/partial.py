"""Partial: the hidden directory in which files arrive, and how they get from there to their names.

Whoever writes into it holds its lock, and so does the rsync that was started for it: nobody else writes meanwhile.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from dogwatch.actions.transfer.listing import PARTIAL, Entry, TransferFailed
from dogwatch.errors import UsageError
from dogwatch.text import plain

LOCK = "lock"
FILES = "files"
LOCK_TRIES = 80  # tenths of a second
SPARE = 16 << 20  # left free on the disk of the target


@dataclass(frozen=True, slots=True)
class Partial:
    """The hidden directory of one target; `lock` is held."""

    target: str
    lock: int

    @property
    def folder(self) -> str:
        return os.path.join(self.target, PARTIAL, FILES)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def size(self, name: str) -> int | None:
        """How much of a file has arrived; None where nothing has."""
        return _size(self.path(name))

    def prune(self, wanted: Collection[Entry], arrived: bool = False) -> None:
        """Remove whatever is not a beginning of a wanted file (or, of files that have `arrived`, one of them)."""
        sizes = {entry.name: entry.size for entry in wanted}
        for folder, folders, files in os.walk(self.folder, topdown=False):
            for entry in (*folders, *files):
                path = os.path.join(folder, entry)
                name = os.path.relpath(path, self.folder)
                if os.path.isdir(path) and not os.path.islink(path):
                    with suppress(OSError):
                        os.rmdir(path)
                elif not _fits(_size(path), sizes.get(name), arrived):
                    os.unlink(path)

    def drop(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path(name))

    def make_room(self, name: str) -> str:
        """The path of a file, with the folders above it, none of them a link."""
        path = self.path(name)
        with suppress(FileExistsError):
            os.makedirs(os.path.dirname(path), mode=0o755)
        if os.path.realpath(os.path.dirname(path)) != os.path.join(
            os.path.realpath(self.folder), os.path.dirname(name)
        ).rstrip("/"):
            raise TransferFailed(f"{plain(path, 200)} is behind a link; remove {os.path.join(self.target, PARTIAL)}")
        return path

    def place(self, entries: Collection[Entry], links: Collection[Entry]) -> None:
        """Give the files that have arrived their names. A folder that is new appears with all that is in it."""
        for entry in entries:
            path = self.path(entry.name)
            if os.path.lexists(path):
                _sync(path)
        for link in links:
            self.drop(link.name)
            os.symlink(link.link, self.make_room(link.name))
        _merge(self.folder, self.target)
        _sync(self.target)
        shutil.rmtree(os.path.join(self.target, PARTIAL), ignore_errors=True)


@contextmanager
def opened(target: str) -> Iterator[Partial]:
    """The partial directory of a target, made if need be and locked; UsageError when somebody else fetches there."""
    folder = os.path.join(target, PARTIAL)
    try:
        os.makedirs(os.path.join(folder, FILES), mode=0o700, exist_ok=True)
        lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{plain(folder, 300)} cannot be made: {error.strerror}; give another --to DIR") from error
    try:
        if not _locked(lock):
            raise UsageError(f"another dogwatch fetches into {plain(target, 300)} now; wait for it")
        yield Partial(target, lock)
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    """Whether we have the lock; an rsync whose dogwatch was killed gives it up within seconds."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            time.sleep(0.1)
    return False


def check_room(target: str, wanted: int) -> None:
    """Refuse what does not fit on the disk."""
    disk = os.statvfs(target)
    free = disk.f_bavail * disk.f_frsize
    if wanted + SPARE > free:
        raise TransferFailed(
            f"{plain(target, 200)} has {free / 1e9:.1f} GB free and {wanted / 1e9:.1f} GB are still to come;"
            " free some, or give another --to DIR"
        )


def no_space(target: str, error: OSError) -> TransferFailed:
    """What a failed write means."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TransferFailed(
            f"no space left on the disk of {plain(target, 200)}; free some and run the same command again,"
            " what has arrived is kept"
        )
    return TransferFailed(f"{plain(str(error.filename or target), 200)} cannot be written: {error.strerror}")


def _size(path: str) -> int | None:
    try:
        row = os.lstat(path)
    except OSError:
        return None
    return row.st_size if stat.S_ISREG(row.st_mode) else None


def _fits(size: int | None, wanted: int | None, arrived: bool) -> bool:
    return size is not None and wanted is not None and (arrived or size <= wanted)


def _merge(source: str, target: str) -> None:
    """Move what is in a folder into another one; a folder that is not there yet moves as a whole."""
    for name in sorted(os.listdir(source)):
        path, final = os.path.join(source, name), os.path.join(target, name)
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        if is_folder and os.path.isdir(final) and not os.path.islink(final):
            _merge(path, final)
            continue
        if is_folder and os.path.lexists(final):
            raise TransferFailed(f"{plain(final, 200)} is in the way: it is no directory; move it away")
        if not is_folder and os.path.isdir(final) and not os.path.islink(final):
            raise TransferFailed(f"{plain(final, 200)} is in the way: it is a directory; move it away")
        os.replace(path, final)


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
