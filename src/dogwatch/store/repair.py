"""After damage: the damaged files set aside, the newest sound backup put in their place, and whatever the
damaged ones still prove added to it. What is lost is said in words; only whoever holds the lease does this.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass

from dogwatch.clock import local_date
from dogwatch.errors import StoreError
from dogwatch.store import backup, events, faults, migrations, salvage, tip, turn
from dogwatch.store.check import check, complaints
from dogwatch.store.database import Store, connect, open_store
from dogwatch.store.home import DATABASE, make_private, open_private, sync_directory
from dogwatch.store.making import lay_down, mark, settle_file
from dogwatch.store.tick import Event

__all__ = ["Repair", "check", "repair"]

_DRAFT = DATABASE + ".repaired"


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did: where the damaged files are, what they were replaced with, and what is lost."""

    quarantined: str
    restored_from: str | None
    lost: str


def repair(home: str, now: float, mono: float = 0.0) -> Repair:
    """Replace a damaged or lost database. The new one is finished beside the old before it takes its place,
    so that a kill at any moment leaves one of them, and a repair that can be begun again."""
    path, draft = os.path.join(home, DATABASE), os.path.join(home, _DRAFT)
    held = turn.wait_for(home)
    try:
        commits, newest = tip.read(home)
        quarantined = _set_aside(home, now)
        source = _lay_base(home, draft, now)
        remains = _open_remains(quarantined)
        try:
            saved = _fill(draft, remains, now)
        finally:
            if remains is not None:
                remains.close()
        lost = _own_up(draft, saved, max(newest, saved.newest_known), commits, now, mono)
        _swap(home, draft, path)
        mark(home, now)
    except OSError as error:
        raise faults.of_os(error, path) from error
    except faults.FAILURES as error:
        raise faults.translate(error, path) from error
    finally:
        os.close(held)
    _tell_tip(home)
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


def _lay_base(home: str, draft: str, now: float) -> str | None:
    """The draft of the new store: a copy of the sound backup that came furthest, or a new store."""
    for name in (draft, draft + "-wal", draft + "-shm", draft + "-journal"):
        if os.path.exists(name):
            os.unlink(name)
    furthest = sorted(((_reach(path), path) for path in backup.backups(home)), reverse=True)
    best = next((path for reached, path in furthest if reached and _sound(path)), None)
    if best is None:
        lay_down(draft, now)
    else:
        _copy_file(best, draft)
        _bring_up(draft, now)
    return best


def _bring_up(draft: str, now: float) -> None:
    """A backup from before a migration is brought to the schema that the remains have."""
    db = connect(draft, "mode=rw")
    try:
        migrations.migrate(db, now)
    finally:
        db.close()


def _reach(path: str) -> int:
    """How many commits a backup says it holds, whatever its name says of its age; 0 when it cannot say."""
    try:
        db = connect(path, "mode=ro&immutable=1")
        try:
            row = db.execute("SELECT rows FROM tallies WHERE name = 'commits'").fetchone()
        finally:
            db.close()
    except faults.FAILURES:
        return 0
    return row[0] if row is not None and isinstance(row[0], int) else 0


def _sound(path: str) -> bool:
    db = connect(path, "mode=ro&immutable=1")
    try:
        return not complaints(db)
    finally:
        db.close()


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


def _fill(draft: str, remains: sqlite3.Connection | None, now: float) -> salvage.Saved:
    db = connect(draft, "mode=rw")
    try:
        db.execute("BEGIN IMMEDIATE")
        saved = salvage.fill(db, remains, now)
        db.execute("COMMIT")
        return saved
    finally:
        db.close()


def _own_up(draft: str, saved: salvage.Saved, newest: int, commits: int, now: float, mono: float) -> str:
    """Append the event that says what is lost; its number follows the lost ones, which are not used again."""
    lost = _words(saved, newest, now)
    db = connect(draft, "mode=rw")
    try:
        db.execute("BEGIN IMMEDIATE")
        seq, _ = events.end(db)
        gap = [seq + 1, newest] if newest > seq else None
        body = {"lost": gap, "jobs": saved.jobs, "events": saved.events}
        event = Event(events.REPAIRED, f"The store was repaired: {lost}", level="critical", body=body)
        events.append_after_gap(db, max(seq, newest) + 1, now, mono, event)
        db.execute("UPDATE tallies SET rows = max(rows, ?) + 1 WHERE name = 'commits'", (commits,))
        db.execute("COMMIT")
        wrong = complaints(db)
        if wrong:
            raise StoreError(f"The repaired store is not sound either: {wrong[0]}.")
        db.execute("PRAGMA journal_mode = DELETE")
    finally:
        db.close()
    return lost


def _words(saved: salvage.Saved, newest: int, now: float) -> str:
    parts = []
    if newest > saved.last_seq:
        since = local_date(saved.last_at) if saved.last_at is not None else "the beginning"
        parts.append(f"events {saved.last_seq + 1} to {newest} are lost, from between {since} and {local_date(now)}")
    if saved.unreadable:
        parts.append(f"what could not be read or proved: {', '.join(saved.unreadable)}")
    if saved.unsent:
        parts.append(f"{saved.unsent} old notices are not sent again")
    return "; ".join(parts) or "nothing is lost"


def _swap(home: str, draft: str, path: str) -> None:
    """The old log goes first: it must never be read together with the new database."""
    for name in (path + "-wal", path + "-shm"):
        if os.path.exists(name):
            os.unlink(name)
    sync_directory(home)
    settle_file(draft, path)


def _tell_tip(home: str) -> None:
    with open_store(home, make=False) as store:
        _touch(store)


def _touch(store: Store) -> None:
    """One empty commit: it turns the log back on and makes the tip true."""
    with store.writing():
        pass
