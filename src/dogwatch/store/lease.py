"""The lease: an flock that one watcher per store holds, free the moment its holder dies.

The lock decides who watches; the text in the file only says who that is, and a pid never proves anything.
"""

from __future__ import annotations

import fcntl
import os
import time

from dogwatch.clock import local
from dogwatch.errors import LeaseHeld
from dogwatch.store import cells, faults
from dogwatch.store.home import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dogwatch.clock import Clock

LOCK = "watch.lock"
POLL = "poll"  # one poll for somebody who asked: it holds the lease, and is no watcher
DAEMON_LOCK = "daemon.lock"  # held by a daemon from its start, also while it waits for the other one
DAEMON = "daemon"
_TRIES, _PAUSE = 15, 0.02  # `holder` holds a shared lock for an instant, which must not look like a watcher


class Lease:
    """A lease that is held until `close()` or the end of the process."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()


def take_daemon(home: str, now: float) -> Lease:
    """Become the daemon of this home, or LeaseHeld with which process already is."""
    return take(home, DAEMON, now, DAEMON_LOCK)


def take(home: str, who: str, now: float, lock: str = LOCK) -> Lease:
    """Become the watcher of this home, or LeaseHeld with who already is."""
    path = os.path.join(home, lock)
    try:
        fd = open_private(path, os.O_CREAT | os.O_RDWR)
    except OSError as error:
        raise faults.of_os(error, path) from error
    try:
        _lock(fd)
    except BlockingIOError:
        told = _parsed(os.pread(fd, 4096, 0))
        os.close(fd)
        who = told.get("who", "another process")
        raise LeaseHeld(
            f"{home} is watched already, by {who} (pid {told.get('pid', 'unknown')} on "
            f"{told.get('host', 'this machine')}) since {_since(told, now) or 'just now'}: stop that one first.",
            who=str(who),
            pid=told.get("pid"),
        ) from None
    _say(fd, who, now)
    return Lease(fd)


def take_after_poll(home: str, who: str, clock: Clock, seconds: float) -> Lease:
    """As `take`, but a single poll that holds the lease is waited for, so long at most."""
    until = clock.mono() + seconds
    while True:
        try:
            return take(home, who, clock.now())
        except LeaseHeld:
            if clock.mono() >= until or held(home):
                raise
            time.sleep(_PAUSE)


def holder(home: str) -> dict[str, Any] | None:
    """What the watcher that holds the lease says of itself; None when nobody holds it, or only a single poll does."""
    told = _told(home)
    parsed = {} if told is None else _parsed(told)
    return None if told is None or parsed.get("who") == POLL else parsed


def held(home: str) -> bool:
    """Whether a watcher holds the lease."""
    told = _told(home)
    return told is not None and b'"who":"%s"' % POLL.encode() not in told


def has_daemon(home: str) -> bool:
    """Whether a daemon of this home runs: it watches, or waits until whoever does has ended."""
    return _told(home, DAEMON_LOCK) is not None


def _told(home: str, lock: str = LOCK) -> bytes | None:
    """The text of a lease that is held."""
    try:
        fd = os.open(os.path.join(home, lock), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(fd, 4096, 0)
    finally:
        os.close(fd)
    return None


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
    with open("/proc/self/stat", "rb") as file:
        start = int(file.read().rpartition(b")")[2].split()[19])
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    told = {
        "pid": os.getpid(),
        "boot": boot,
        "start": start,
        "who": who,
        "since": now,
        "host": os.uname().nodename,
    }
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, cells.dump(told).encode() + b"\n", 0)
    except OSError:  # a full disk takes the text away, not the lock
        return


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        told = cells.parse(text.decode("utf-8", "replace"))
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _since(told: dict[str, Any], now: float) -> str | None:
    since = told.get("since")
    return local(since, now) if isinstance(since, (int, float)) else None
