"""After damage: the damaged files set aside, the newest intact backup put in their place, and whatever the
damaged ones still prove added to it. What is lost is said in words; only whoever holds the lease does this.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from dogwatch.clock import local_date
from dogwatch.errors import StoreError
from dogwatch.store.interface import Repair
from dogwatch.store.private_files import make_private, open_private, sync_directory
from dogwatch.store.rows import events
from dogwatch.store.rows.tick import Event
from dogwatch.store.sqlite import backup, commit_marker, faults, migrations, salvage, write_lock
from dogwatch.store.sqlite.check import complaints, transaction
from dogwatch.store.sqlite.connection import connect
from dogwatch.store.sqlite.create import create_database, finish_file, mark
from dogwatch.store.sqlite.home import DATABASE
from dogwatch.store.sqlite.transaction import reached

if TYPE_CHECKING:
    from dogwatch.wire.documents.watch import EventBody

_DRAFT = DATABASE + ".repaired"


def repair(home: str, now: float, mono: float) -> Repair:
    """Replace a damaged or lost database. The new one is finished beside the old before it takes its place,
    so that a kill at any moment leaves one of them, and a repair that can be begun again."""
    path, draft = os.path.join(home, DATABASE), os.path.join(home, _DRAFT)
    held = write_lock.acquire(home)
    try:
        marked = commit_marker.read(home)
        quarantined = _set_aside(home, now)
        source = _make_base(home, draft, now)
        remains = _open_remains(quarantined)
        try:
            lost = _fill(draft, remains, marked, now, mono)
        finally:
            if remains is not None:
                remains.close()
        _swap(home, draft, path)
        mark(home, now)
    except OSError as error:
        raise faults.of_os(error, path) from error
    except faults.FAILURES as error:
        raise faults.translate(error, path) from error
    finally:
        os.close(held)
    return Repair(quarantined, source, lost)


def _set_aside(home: str, now: float) -> str:
    """Copy, not move: the damaged set stays where it is until a better one is ready to replace it."""
    folder = os.path.join(home, "quarantine")
    make_private(folder)
    target = os.path.join(folder, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now)))
    while os.path.exists(target):
        target += "+"
    make_private(target)
    for name in (DATABASE, DATABASE + "-wal"):
        _copy_file(os.path.join(home, name), os.path.join(target, name))
    sync_directory(target)
    return target


def _copy_file(source: str, target: str) -> None:
    if not os.path.exists(source):
        return
    fd = open_private(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    with open(source, "rb") as old, os.fdopen(fd, "wb") as new:
        while block := old.read(1 << 20):
            new.write(block)
        new.flush()
        os.fsync(new.fileno())


def _make_base(home: str, draft: str, now: float) -> str | None:
    """The draft of the new store: a copy of the intact backup that came furthest, or a new store."""
    furthest = sorted(((_transport(path), path) for path in backup.backups(home)), reverse=True)
    for transport, path in furthest:
        if transport and _copied(path, draft, now):
            return path
    _clear(draft)
    create_database(draft, now)
    return None


def _copied(backup: str, draft: str, now: float) -> bool:
    """Whether a backup, brought to the schema that the remains have, is intact."""
    _clear(draft)
    _copy_file(backup, draft)
    try:
        with closing(connect(draft, "mode=rw")) as db:
            migrations.migrate(db, now)
            return not complaints(db)
    except faults.FAILURES:
        return False


def _clear(draft: str) -> None:
    for name in (draft, draft + "-wal", draft + "-shm", draft + "-journal"):
        if os.path.exists(name):
            os.unlink(name)


def _transport(path: str) -> int:
    """How many commits a backup says it holds, whatever its name says of its age; 0 when it cannot say."""
    try:
        with closing(connect(path, "mode=ro&immutable=1")) as db:
            return reached(db)[0]
    except (StoreError, *faults.FAILURES):
        return 0


def _open_remains(quarantined: str) -> sqlite3.Connection | None:
    path = os.path.join(quarantined, DATABASE)
    if not os.path.exists(path):
        return None
    try:
        db = connect(path, "mode=ro")  # so that closing it does not fold the log into the evidence
        db.execute("PRAGMA user_version").fetchone()
    except faults.FAILURES:
        return None
    return db


def _fill(draft: str, remains: sqlite3.Connection | None, marked: tuple[int, int], now: float, mono: float) -> str:
    """Add what the remains prove and the event that says what is lost; its number follows the lost ones, which are not
    used again. `marked` is (commits, newest event) of the commit marker."""
    with closing(connect(draft, "mode=rw")) as db:
        db.execute("BEGIN IMMEDIATE")
        saved, tx = salvage.fill(db, remains, now), transaction(db)
        newest, end = max(marked[1], saved.newest_known), events.end_of(tx)
        lost = _words(saved, newest, now)
        gap = [end.seq + 1, newest] if newest > end.seq else None
        body: EventBody = {"lost": gap, "jobs": saved.jobs, "events": saved.events}
        event = Event(events.REPAIRED, f"The store was repaired: {lost}", level="critical", body=body)
        row = events.hashed(max(end.seq, newest) + 1, end.hash, now, mono, event)
        tx.insert(row)
        tx.change(end, seq=row.seq, hash=row.hash)
        db.execute("UPDATE tallies SET rows = max(rows, ?) + 1 WHERE name = 'commits'", (marked[0],))
        db.execute("COMMIT")
        wrong = complaints(db)
        if wrong:
            raise StoreError(f"The repaired store is damaged too: {wrong[0]}.")
        db.execute("PRAGMA journal_mode = DELETE")
    return lost


def _words(saved: salvage.Saved, newest: int, now: float) -> str:
    parts = []
    if newest > saved.last_seq:
        since = local_date(saved.last_at) if saved.last_at is not None else "the beginning"
        parts.append(f"events {saved.last_seq + 1} to {newest} are lost, from between {since} and {local_date(now)}")
    if saved.unreadable:
        parts.append(f"what could not be read or confirmed: {', '.join(saved.unreadable)}")
    if saved.unsent:
        parts.append(f"{saved.unsent} old notifications are not sent again")
    return "; ".join(parts) or "nothing is lost"


def _swap(home: str, draft: str, path: str) -> None:
    """The old log goes first: it must never be read together with the new database."""
    for name in (path + "-wal", path + "-shm"):
        if os.path.exists(name):
            os.unlink(name)
    sync_directory(home)
    finish_file(draft, path)
