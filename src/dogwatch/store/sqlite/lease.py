"""Leases: an flock for each name that one process holds, free the moment its holder dies.

The lock decides who holds it; the text in the file only says who that is, and a pid never proves anything.
"""

from __future__ import annotations

import fcntl
import os
import time

from dogwatch.clock import local
from dogwatch.errors import LeaseHeld
from dogwatch.store import POLL, WATCH
from dogwatch.store.private_files import OpenFile, open_private
from dogwatch.store.rows.encoding import decode_json, encode_json
from dogwatch.store.sqlite import faults

_TRIES, _PAUSE = 15, 0.02  # `holder` holds a shared lock for an instant, which must not look like a watcher


class Lease(OpenFile):
    """A lease that is held until `close()` or the end of the process."""


class Holder:
    """What the holder of a lease says of itself."""

    def __init__(self, text: bytes) -> None:
        try:
            fields = decode_json(text.decode("utf-8", "replace"))
        except ValueError:
            fields = {}
        get = fields.get if isinstance(fields, dict) else {}.get
        who, pid, host, since = map(get, ("who", "pid", "host", "since"))
        self.who: str | None = who if isinstance(who, str) else None
        self.pid: int | None = pid if isinstance(pid, int) else None
        self.host: str | None = host if isinstance(host, str) else None
        self.since: float | None = since if isinstance(since, (int, float)) else None


def take(home: str, who: str, now: float, name: str = WATCH, timeout: float = 0.0) -> Lease:
    """Become the only holder of a name, or LeaseHeld with who already is; a single poll is waited for, so long."""
    until = time.monotonic() + timeout
    while True:
        try:
            return _take(home, who, now, name)
        except LeaseHeld as held:
            if time.monotonic() >= until or held.who != POLL:
                raise
            time.sleep(_PAUSE)


def holder(home: str, name: str = WATCH) -> Holder | None:
    """Who holds a lease; None when nobody does, or only a single poll."""
    text = _text(home, name)
    return None if text is None else Holder(text)


def held(home: str, name: str = WATCH, *, single_poll: bool = False) -> bool:
    """Whether there is a holder, a `single_poll` counted or not; needs no JSON reader, because `ls` asks."""
    return _text(home, name, single_poll) is not None


def _text(home: str, name: str, single_poll: bool = False) -> bytes | None:
    try:
        fd = os.open(_file(home, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, 4096, 0)
        return None if not single_poll and b'"who":"%s"' % POLL.encode() in text else text
    finally:
        os.close(fd)
    return None


def _take(home: str, who: str, now: float, name: str) -> Lease:
    path = _file(home, name)
    try:
        fd = open_private(path, os.O_CREAT | os.O_RDWR)
    except OSError as error:
        raise faults.of_os(error, path) from error
    try:
        _lock(fd)
    except BlockingIOError:
        held = Holder(os.pread(fd, 4096, 0))
        os.close(fd)
        since = "just now" if held.since is None else local(held.since, now)
        by = held.who or "another process"
        raise LeaseHeld(
            f"{home} is watched already, by {by} (pid {held.pid or 'unknown'} on "
            f"{held.host or 'this machine'}) since {since}: stop that one first.",
            who=by,
            pid=held.pid,
        ) from None
    _say(fd, who, now)
    return Lease(fd)


def _file(home: str, name: str) -> str:
    """The lock of a name; one that is no plain word is spelt in hexadecimal, since a place may be called anything."""
    plain = name if name.isalnum() and name.isascii() else "x" + name.encode("utf-8", "surrogatepass").hex()
    return os.path.join(home, f"{plain}.lock")


def _lock(fd: int) -> None:
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not left:
                raise
            time.sleep(_PAUSE)


def _say(fd: int, who: str, now: float) -> None:
    fields = {"pid": os.getpid(), "who": who, "since": now, "host": os.uname().nodename}
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, encode_json(fields).encode() + b"\n", 0)
    except OSError:  # a full disk takes the text away, not the lock
        return
