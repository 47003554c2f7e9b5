"""Backups are whole, private, hourly, and kept for a day."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dogwatch.errors import StoreDamaged
from dogwatch.store.rows import jobs, tick
from dogwatch.store.sqlite import backup
from tests.store.sample import NOW, filled, numbered, worker

HOUR = 3600.0


def test_a_backup_is_one_file_with_everything_in_it(home: Path) -> None:
    """It needs no log beside it, and opens as a database of its own."""
    store = filled(home)
    path = store.back_up(NOW)
    assert path == str(home / "backups" / "dogwatch-20270115T08.db")
    assert [one.name for one in (home / "backups").iterdir()] == ["dogwatch-20270115T08.db"]
    copy = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    assert copy.execute("SELECT count(*) FROM jobs").fetchone() == (8,)
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()


def test_a_backup_is_due_once_an_hour_and_kept_for_a_day(home: Path) -> None:
    """The newest is kept however old it is, also when the clock has jumped."""
    store = filled(home)
    assert backup.due(str(home), NOW)
    for hour in range(30):
        store.back_up(NOW + hour * HOUR)
    assert not backup.due(str(home), NOW + 29 * HOUR + 1)
    assert backup.due(str(home), NOW + 30 * HOUR)
    assert len(backup.backups(str(home))) == 25
    backup.prune(str(home), NOW + 1000 * HOUR)
    assert [Path(one).name for one in backup.backups(str(home))] == ["dogwatch-20270116T13.db"]


def test_a_damaged_store_is_not_backed_up(home: Path) -> None:
    """A copy of damage must not push a intact backup out."""
    store = filled(home)
    store.back_up(NOW)
    store.db.execute("UPDATE jobs SET name = 'wrong' WHERE key = 3")
    with pytest.raises(StoreDamaged, match="could not be backed up"):
        store.back_up(NOW + HOUR)
    assert [Path(one).name for one in backup.backups(str(home))] == ["dogwatch-20270115T08.db"]


def test_a_backup_is_whole_while_others_write(home: Path) -> None:
    """Copies taken while another process commits are each of one moment."""
    store = filled(home)
    process = worker("ticks", home, 100)
    assert process.stdout is not None
    process.stdout.readline()
    for hour in range(10):
        store.back_up(NOW + hour * HOUR)
    process.kill()
    process.communicate()
    tick.commit(store, numbered(9))
    found: Any = jobs.documents(store, refs=["here/process:1"])
    assert found[0]["progress"]["step"] == 9
