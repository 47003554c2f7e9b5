"""Making a store, and bringing an older one up to date, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from dogwatch.clock import Clock
from dogwatch.store import cells, faults, migrations, tip, turn
from dogwatch.store.database import APPLICATION, MARKER, connect, made
from dogwatch.store.home import DATABASE, make_private, open_private, sync_directory, write_durably

BEFORE = "before-schema"


def make(home: str) -> None:
    """A new store with its marker; when several processes come at once, one makes it and all may go on."""
    with _alone(home) as path:
        if not made(home):
            _make(home, path)


def upgrade(home: str, version: int) -> None:
    """Run the migrations that are missing, after setting a copy of the old database aside."""
    with _alone(home) as path, closing(connect(path, "mode=rw")) as db:
        keep_copy(db, home, version)
        migrations.migrate(db, Clock().now())


@contextmanager
def _alone(home: str) -> Iterator[str]:
    """The database of a home, while nobody else makes or changes it; what fails is told as a fault of the store."""
    path = os.path.join(home, DATABASE)
    try:
        lock = _lock(home)
        try:
            yield path
        finally:
            os.close(lock)
    except OSError as error:
        raise faults.of_os(error, path) from error
    except faults.FAILURES as error:
        raise faults.translate(error, path) from error


def keep_copy(db: sqlite3.Connection, home: str, version: int) -> str | None:
    """A copy of a database that is about to be migrated; an empty one leaves none."""
    if version < 1:
        return None
    folder = os.path.join(home, "backups")
    make_private(folder)
    kept = os.path.join(folder, f"{BEFORE}-{version + 1}.db")
    draft = kept + ".new"
    os.close(open_private(draft, os.O_CREAT | os.O_TRUNC | os.O_RDWR))
    copy = sqlite3.connect(draft, isolation_level=None)
    try:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        copy.close()
    settle_file(draft, kept)
    return kept


def settle_file(draft: str, final: str) -> None:
    """Give a finished file its name, durably."""
    fd = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(draft, final)
    sync_directory(os.path.dirname(final))


def lay_down(path: str, now: float) -> None:
    """A new database at `path`: the file 0600 before SQLite sees it, then every migration."""
    os.close(open_private(path, os.O_CREAT | os.O_RDWR))
    db = connect(path, "mode=rw")
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            db.execute(f"PRAGMA application_id = {APPLICATION}")
        migrations.migrate(db, now)
    finally:
        db.close()


def mark(home: str, now: float) -> None:
    """Write the marker that says, for good, that a store was made here."""
    told = {"made": now, "application": "dogwatch"}
    write_durably(os.path.join(home, MARKER), cells.dump(told).encode() + b"\n")


def _make(home: str, path: str) -> None:
    now = Clock().now()
    lay_down(path, now)
    os.close(turn.wait_for(home))
    mark(home, now)
    if tip.read(home) == (0, 0):
        tip.write(home, 1, 0)


def _lock(home: str) -> int:
    fd = open_private(os.path.join(home, "make.lock"), os.O_CREAT | os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd
