"""Waiters: who waits for what of which jobs, each in a file of the home that it holds locked while it lives.

The lock says whether a waiter is alive, so one that was killed never looks alive; the text says who it is. A waiter is
asked to end by a second file beside its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from dogwatch.store.interface import Location
from dogwatch.store.private_files import OpenFile, make_private, of_os, open_private

FOLDER = "waiters"
RECORD, ENDING = ".json", ".end"
MOST_BYTES = 64 << 10
_ID = re.compile(r"w-[0-9a-f]{6}")


class Waiter(msgspec.Struct, frozen=True):
    """Who waits for what. `marker` is a file that it waits for on each of the `places`."""

    id: str
    refs: tuple[str, ...]
    condition: str
    consumer: str | None
    pid: int
    user: str
    since: float
    until: float
    places: tuple[str, ...] = ()
    marker: str | None = None

    def shares_a_job(self, other: Waiter) -> bool:
        return bool(set(self.refs) & set(other.refs))


@dataclass(frozen=True, slots=True)
class Listed:
    """A waiter that was found, and whether its process lives; `ending` is why it was asked to end."""

    waiter: Waiter
    alive: bool
    ending: str | None


class Registration:
    """A waiter that is listed for as long as this is open; nothing of it is left after `close`."""

    def __init__(self, lock: OpenFile, path: str) -> None:
        self._lock, self._path = lock, path

    def asked_to_end(self) -> str | None:
        """Why it is to end, in words; None while nobody wants that."""
        if os.path.lexists(self._path + ENDING):
            return _text(self._path + ENDING) or "it was asked to end"
        return None if os.path.lexists(self._path + RECORD) else "its record was removed from the home"

    def close(self) -> None:
        _remove(self._path)
        self._lock.close()


def register(location: Location, waiter: Waiter, replaced: str) -> tuple[Registration, list[Waiter]]:
    """List a waiter, and ask those of its consumer that wait for one of its jobs to end, because of `replaced`; also
    which these are. Records of waiters that were killed go where this one replaces them, or their time is over."""
    folder = location.path(FOLDER)
    try:
        make_private(folder)
        with _alone(folder):
            ended = []
            for other in listed(location):
                same = waiter.consumer is not None and other.waiter.consumer == waiter.consumer
                same = same and other.waiter.shares_a_job(waiter)
                if not other.alive and (same or other.waiter.until < waiter.since):
                    _remove(os.path.join(folder, other.waiter.id))
                elif same:
                    _ask_to_end(folder, other.waiter.id, replaced)
                    ended.append(other.waiter)
            return _write(folder, waiter), ended
    except OSError as error:
        raise of_os(error, folder) from error


def listed(location: Location) -> list[Listed]:
    """Every waiter that has a record, oldest first."""
    folder = location.path(FOLDER)
    found = [one for name in _names(folder) if (one := _read(folder, name)) is not None]
    return sorted(found, key=lambda one: one.waiter.since)


def markers(location: Location, place: str) -> list[str]:
    """The files on a place that living waiters wait for."""
    folder = location.path(FOLDER)
    paths = [
        one.waiter.marker
        for name in _names(folder)
        if (one := _read(folder, name)) and one.alive and one.waiter.marker and place in one.waiter.places
    ]
    return sorted(set(paths))


def end(location: Location, waiter: Waiter, why: str) -> None:
    """Ask a living waiter to end."""
    folder = location.path(FOLDER)
    try:
        _ask_to_end(folder, waiter.id, why)
    except OSError as error:
        raise of_os(error, folder) from error


def remove_stale(location: Location, wanted: Callable[[Waiter], bool] = lambda waiter: True) -> list[Waiter]:
    """Remove the records of waiters whose process is gone; those that were."""
    stale = [one.waiter for one in listed(location) if not one.alive and wanted(one.waiter)]
    for waiter in stale:
        _remove(location.path(FOLDER, waiter.id))
    return stale


def _names(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    ids = [name.removesuffix(RECORD) for name in names if name.endswith(RECORD)]
    return [name for name in ids if _ID.fullmatch(name)]


def _read(folder: str, name: str) -> Listed | None:
    """A waiter by its file; None for one that has just ended, or whose record is none."""
    path = os.path.join(folder, name)
    try:
        fd = open_private(path + RECORD, os.O_RDONLY)
    except OSError:
        return None
    with OpenFile(fd):
        alive = _is_locked(fd)
        try:
            waiter = msgspec.json.decode(os.pread(fd, MOST_BYTES, 0), type=Waiter)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if waiter.id != name:
            return None
    ending = _text(path + ENDING) if os.path.lexists(path + ENDING) else None
    return Listed(waiter, alive, ending)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _write(folder: str, waiter: Waiter) -> Registration:
    """The record, locked before anybody can see it; a lock lies on the file and stays when it is renamed."""
    path = os.path.join(folder, waiter.id)
    fd = open_private(path + ".new", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, msgspec.json.encode(waiter))
        os.rename(path + ".new", path + RECORD)
    except OSError:
        os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(path + ".new")
        raise
    return Registration(OpenFile(fd), path)


def _ask_to_end(folder: str, name: str, why: str) -> None:
    path = os.path.join(folder, name)
    fd = open_private(path + ".draft", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    with OpenFile(fd):
        os.write(fd, why.encode("utf-8", "replace")[:MOST_BYTES])
    os.rename(path + ".draft", path + ENDING)


def _text(path: str) -> str:
    try:
        with OpenFile(open_private(path, os.O_RDONLY)) as file:
            return os.pread(file.fileno(), MOST_BYTES, 0).decode("utf-8", "replace")
    except OSError:
        return ""


def _remove(path: str) -> None:
    """The record goes first: without it, what else there is means nothing."""
    for ending in (RECORD, ENDING):
        with contextlib.suppress(OSError):
            os.unlink(path + ending)


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Nobody else registers meanwhile, so two of one consumer never miss each other."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with OpenFile(fd):
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
