"""Creating a store, and bringing an older one up to date, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from dogwatch.clock import Clock
from dogwatch.store.private_files import make_private, open_private, sync_directory, write_durably
from dogwatch.store.rows.encoding import encode_json
from dogwatch.store.sqlite import commit_marker, faults, migrations, write_lock
from dogwatch.store.sqlite.connection import APPLICATION, connect
from dogwatch.store.sqlite.home import DATABASE, MARKER, made

BEFORE = "before-schema"


def create(home: str) -> None:
    """A new store with its marker; when several processes come at once, one makes it and all may go on."""
    with _alone(home) as path:
        if not made(home):
            _create(home, path)


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
    copy_database(db, kept + ".new")
    finish_file(kept + ".new", kept)
    return kept


def copy_database(db: sqlite3.Connection, draft: str) -> None:
    """As it is at one moment, into one file that needs no other beside it."""
    os.close(open_private(draft, os.O_CREAT | os.O_TRUNC | os.O_RDWR))
    with closing(connect(draft, "mode=rw")) as copy:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def finish_file(draft: str, final: str) -> None:
    """Give a finished file its name, durably."""
    fd = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(draft, final)
    sync_directory(os.path.dirname(final))


def create_database(path: str, now: float) -> None:
    """A new database at `path`: the file 0600 before SQLite sees it, then every migration."""
    os.close(open_private(path, os.O_CREAT | os.O_RDWR))
    with closing(connect(path, "mode=rw")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            db.execute(f"PRAGMA application_id = {APPLICATION}")
        migrations.migrate(db, now)


def mark(home: str, now: float) -> None:
    """Write the marker that says, for good, that a store was made here."""
    fields = {"made": now, "application": "dogwatch"}
    write_durably(os.path.join(home, MARKER), encode_json(fields).encode() + b"\n")


def _create(home: str, path: str) -> None:
    now = Clock().now()
    create_database(path, now)
    os.close(write_lock.acquire(home))
    mark(home, now)
    if commit_marker.read(home) == (0, 0):
        commit_marker.write(home, 1, 0)


def _lock(home: str) -> int:
    fd = open_private(os.path.join(home, "make.lock"), os.O_CREAT | os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd
