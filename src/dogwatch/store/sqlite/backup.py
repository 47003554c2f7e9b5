"""Hourly copies of the live store, each checked before it gets its name, kept for a day."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing

from dogwatch.errors import StoreDamaged
from dogwatch.store.private_files import make_private
from dogwatch.store.sqlite import faults
from dogwatch.store.sqlite.check import complaints
from dogwatch.store.sqlite.connection import connect
from dogwatch.store.sqlite.create import copy_database, finish_file

FOLDER = "backups"
KEEP_SECONDS = 24 * 3600.0
_PREFIX, _SUFFIX, _HOUR = "dogwatch-", ".db", "%Y%m%dT%H"


def back_up(db: sqlite3.Connection, home: str, now: float) -> str:
    """Copy the store as it is at one moment, while it goes on being written; returns the copy's path."""
    folder = os.path.join(home, FOLDER)
    final = os.path.join(folder, _name(now))
    draft = final + ".new"
    try:
        make_private(folder)
        copy_database(db, draft)
        _check(draft)
        finish_file(draft, final)
        prune(home, now)
    except OSError as error:
        raise faults.of_os(error, final) from error
    finally:
        for name in (draft, draft + "-journal"):
            if os.path.exists(name):
                os.unlink(name)
    return final


def due(home: str, now: float) -> bool:
    """Whether the hour of `now` has no backup yet."""
    return not os.path.exists(os.path.join(home, FOLDER, _name(now)))


def backups(home: str) -> list[str]:
    """The hourly backups, oldest first by name."""
    folder = os.path.join(home, FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names if _hour_of(name) is not None]


def prune(home: str, now: float) -> None:
    """Remove what is older than a day, never the newest."""
    for path in backups(home)[:-1]:
        if os.path.basename(path) < _name(now - KEEP_SECONDS):
            os.unlink(path)


def _check(draft: str) -> None:
    with closing(connect(draft, "mode=ro")) as copy:
        wrong = complaints(copy, history=False)
    if wrong:
        raise StoreDamaged(f"The store could not be backed up, it is damaged: {wrong[0].rstrip('.')}.")


def _name(at: float) -> str:
    return _PREFIX + time.strftime(_HOUR, time.gmtime(at)) + _SUFFIX


def _hour_of(name: str) -> str | None:
    hour = name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return hour if name == _PREFIX + hour + _SUFFIX and len(hour) == 11 and hour[:8].isdigit() else None
