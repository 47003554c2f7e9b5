"""Connections to the database file: opened whole or not at all, each error as one of ours."""

from __future__ import annotations

import os
import sqlite3

from dogwatch.errors import StoreDamaged, StoreGone, StoreTooNew
from dogwatch.store.rows.row import REMEDY
from dogwatch.store.sqlite import commit_marker, faults
from dogwatch.store.sqlite.migrations import LATEST
from dogwatch.store.sqlite.transaction import reached

APPLICATION = 0x444F4757  # "DOGW"
BUSY_SECONDS = 30.0
_MAGIC = b"SQLite format 3\0"
_WAL_LIMIT = 16 * 1024 * 1024
_IMMUTABLE = "mode=ro&immutable=1"
_HEADERS: dict[tuple[int, int], int] = {}


def wal_bytes(path: str) -> int:
    """The size of the write-ahead log: it grows without end while some reader never lets go."""
    try:
        return os.stat(path + "-wal").st_size
    except FileNotFoundError:
        return 0


def connect(path: str, how: str) -> sqlite3.Connection:
    """A connection that never makes a file; `how` is the URI's query."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{quoted}?{how}", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    # Temporary b-trees in memory: a full disk must not stop a reader.
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("PRAGMA cell_size_check = ON")
    return db


def written(path: str) -> tuple[int, ...]:
    """What differs when somebody has written to the database or its log."""
    try:
        row = os.stat(path)
    except OSError:
        return ()
    return row.st_mtime_ns, row.st_size, wal_bytes(path)


def attach(home: str, path: str, readonly: bool) -> tuple[sqlite3.Connection, bool]:
    """A connection, and whether it takes the file for one that never changes."""
    marked, _ = commit_marker.read(home)  # before the database: a commit in between only makes that one newer
    _check_header(path)
    try:
        db, immutable = _first_that_opens(path, readonly)
        _check_contents(db, path, marked)
    except faults.FAILURES as error:
        raise faults.translate(error, path) from error
    return db, immutable


def _first_that_opens(path: str, readonly: bool) -> tuple[sqlite3.Connection, bool]:
    """Read-write, else reading only, else (no log to take into account) as a file that nobody can change:
    a full or read-only disk has no room for the shared memory that SQLite's log asks for."""
    ways = ["mode=ro"] if readonly else ["mode=rw", "mode=ro"]
    if not wal_bytes(path):
        ways.append(_IMMUTABLE)
    for way in ways:
        db = connect(path, way)
        try:
            db.execute("PRAGMA user_version").fetchone()
            if way == "mode=rw":
                _settle(db)
            return db, way == _IMMUTABLE
        except faults.FAILURES as error:
            db.close()
            if way == ways[-1] or faults.code(error) & 0xFF not in faults.NOT_WRITABLE:
                raise
    raise AssertionError("unreachable")


def _settle(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        db.execute("PRAGMA journal_mode = WAL")


def _check_header(path: str) -> None:
    try:
        head = os.pread(_kept_open(path), 100, 0)
    except FileNotFoundError:
        raise StoreGone(f"{path} is missing although a store was created here; {REMEDY}.") from None
    except OSError as error:
        raise faults.of_os(error, path) from error
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise faults.damaged(path, "it is empty, cut short or overwritten")


def _kept_open(path: str) -> int:
    """A descriptor of the database that stays open: POSIX takes every lock of a process on a file away when
    it closes any descriptor of it, and without SQLite's locks another process deletes the log in use."""
    there = identity(path)
    fd = None if there is None else _HEADERS.get(there)
    if fd is None:
        _close_deleted()
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(fd)
        _HEADERS[status.st_dev, status.st_ino] = fd
    return fd


def _close_deleted() -> None:
    """Let go of databases that were deleted meanwhile: nobody can come to hold a lock on one any more."""
    for key, fd in list(_HEADERS.items()):
        if os.fstat(fd).st_nlink == 0:
            os.close(fd)
            del _HEADERS[key]


def _check_contents(db: sqlite3.Connection, path: str, marked: int) -> None:
    version = version_of(db)
    if version > LATEST:
        raise too_new(path, version)
    if version < 1 or db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise faults.damaged(path, "it does not carry Dogwatch's mark")
    commits, _ = reached(db)
    if commits < marked:
        raise StoreDamaged(
            f"{path} has lost its last {marked - commits} commits (its write-ahead log was cut, damaged or "
            f"deleted, or an older copy was put in its place); {REMEDY}."
        )


def version_of(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def too_new(path: str, version: int) -> StoreTooNew:
    return StoreTooNew(
        f"{path} has schema {version} and this Dogwatch knows schemas up to {LATEST}: upgrade Dogwatch, "
        "or set DOGWATCH_HOME to another directory."
    )


def identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
