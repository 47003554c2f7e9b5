"""A store is opened whole or not at all, and an absent one is never taken for an empty one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.errors import StoreDamaged, StoreError, StoreGone, StoreTooNew
from dogwatch.store.rows import events, jobs, tick
from dogwatch.store.sqlite.connection import wal_bytes
from dogwatch.store.sqlite.location import open_store
from tests.store.sample import ROOT, everything, filled, numbered


def test_a_store_is_made_on_first_use_and_found_again(home: Path) -> None:
    """What one process wrote, the next one reads, also when it only reads."""
    with filled(home) as store:
        before = everything(store)
    with open_store(str(home)) as store:
        assert everything(store) == before
    with open_store(str(home), readonly=True, make=False) as store:
        assert everything(store) == before


def test_a_store_that_was_never_made_is_not_made_by_asking(home: Path) -> None:
    """make=False leaves the home as it was."""
    with pytest.raises(StoreError, match="no store"):
        open_store(str(home), make=False)
    assert list(home.iterdir()) == []


def test_the_settings_that_durability_rests_on_are_in_force(home: Path) -> None:
    """WAL, full synchronisation, foreign keys, cell checks and our mark in the header."""
    db = open_store(str(home)).db
    asked = [
        "journal_mode",
        "synchronous",
        "foreign_keys",
        "cell_size_check",
        "busy_timeout",
        "application_id",
        "user_version",
    ]
    found = {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in asked}
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "cell_size_check": 1,
        "busy_timeout": 30_000,
        "application_id": 0x444F4757,
        "user_version": 1,
    }


def test_a_deleted_database_is_an_error_and_not_an_empty_store(home: Path) -> None:
    """The marker remembers that there was one, for every kind of opening."""
    filled(home).close()
    for name in ("dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm"):
        (home / name).unlink(missing_ok=True)
    for readonly in (False, True):
        with pytest.raises(StoreGone, match="is missing although a store was created here"):
            open_store(str(home), readonly=readonly)
    assert not (home / "dogwatch.db").exists()


@pytest.mark.parametrize("content", [b"", bytes(8192), b"SQLite format 3\0", b"hello" * 500])
def test_an_emptied_or_zeroed_database_is_damage(home: Path, content: bytes) -> None:
    """A file without a registry in it is not a registry without jobs."""
    filled(home).close()
    (home / "dogwatch.db").write_bytes(content)
    with pytest.raises(StoreDamaged):
        open_store(str(home))
    assert (home / "dogwatch.db").read_bytes() == content


def test_a_database_deleted_or_replaced_while_open_is_noticed(home: Path) -> None:
    """The watcher's question each cycle fails loudly, and nothing is written into the void."""
    store = filled(home)
    store.still_there()
    shutil.copy2(home / "dogwatch.db", home / "copy")
    (home / "dogwatch.db").unlink()
    with pytest.raises(StoreGone, match="deleted or replaced"):
        tick.commit(store, numbered(7))
    (home / "copy").rename(home / "dogwatch.db")
    for _ in range(2):
        with pytest.raises(StoreGone, match="deleted or replaced"):
            store.still_there()
    with pytest.raises(StoreGone):
        jobs.documents(store)


@pytest.mark.parametrize("fate", ["deleted", "emptied", "cut", "scribbled"])
def test_a_lost_log_is_noticed_although_sqlite_opens_without_it(home: Path, fate: str) -> None:
    """SQLite takes a damaged write-ahead log for a short one; the commit marker knows how far the store had come."""
    store = filled(home)
    tick.commit(store, numbered(7))
    copy = home.parent / "copy"
    shutil.copytree(home, copy)
    log = copy / "dogwatch.db-wal"
    content = log.read_bytes()
    if fate == "deleted":
        log.unlink()
    else:
        changed = {"emptied": b"", "cut": content[:-5000], "scribbled": content[:-3000] + b"x" + content[-2999:]}
        log.write_bytes(changed[fate])
    for readonly in (False, True):
        with pytest.raises(StoreDamaged):
            open_store(str(copy), readonly=readonly)


def test_a_newer_schema_is_refused_by_both_numbers(home: Path) -> None:
    """A guess at an unknown schema could lose what it knows; the open store notifications an upgrade too."""
    store = filled(home)
    other = sqlite3.connect(store.path)
    other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(StoreTooNew, match="schema 7 and this Dogwatch knows schemas up to 1"):
        tick.commit(store, numbered(7))
    store.close()
    for readonly in (False, True):
        with pytest.raises(StoreTooNew, match="schema 7"):
            open_store(str(home), readonly=readonly)


def test_somebody_elses_database_is_not_taken_for_ours(home: Path) -> None:
    """The application id is checked before anything is believed."""
    store = filled(home)
    store.db.execute("PRAGMA application_id = 1")
    store.close()
    with pytest.raises(StoreDamaged, match="Dogwatch's mark"):
        open_store(str(home))


def test_a_change_by_another_process_is_seen_as_a_number(home: Path) -> None:
    """An interface that follows need not read what has not changed."""
    reader, writer = filled(home), open_store(str(home))
    before = reader.revision_of_others()
    assert reader.revision_of_others() == before
    tick.commit(writer, numbered(7))
    assert reader.revision_of_others() != before


def test_a_reader_sees_one_moment(home: Path) -> None:
    """What is committed while somebody reads is for the next reading."""
    reader, writer = filled(home), open_store(str(home))
    with reader.reading():
        before = events.read(reader)
        tick.commit(writer, numbered(7))
        assert events.read(reader) == before
    assert len(events.read(reader)) == len(before) + 1


def test_a_long_reader_makes_the_log_grow_and_that_can_be_measured(home: Path) -> None:
    """The log cannot be folded back while somebody reads an old moment; afterwards it can."""
    reader, writer = filled(home), open_store(str(home))
    with reader.reading() as tx:
        tx.db.execute("SELECT count(*) FROM events").fetchone()
        small = wal_bytes(writer.path)
        for n in range(7, 100):
            tick.commit(writer, numbered(n))
        assert wal_bytes(writer.path) > small + 500_000


def test_a_damaged_index_does_not_hide_a_job(home: Path) -> None:
    """A ref that its index has lost is looked for row by row; a hole in the list of the active shows."""
    store = filled(home)
    store.db.execute("PRAGMA writable_schema = ON")
    store.db.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'active = 1', 'active = 7') WHERE name = 'jobs_active'"
    )
    store.close()
    store = open_store(str(home))
    store.db.execute("REINDEX jobs_active")
    store.db.execute("PRAGMA writable_schema = ON")
    store.db.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'active = 7', 'active = 1') WHERE name = 'jobs_active'"
    )
    store.close()
    store = open_store(str(home))
    assert [one["ref"] for one in jobs.documents(store, refs=["here/process:1"])] == ["here/process:1"]
    with pytest.raises(StoreDamaged, match=r"tally of jobs\.active"):
        jobs.brief(store)


def test_reading_loads_nothing_dear() -> None:
    """`dogwatch ls` must start in the time of a few Pythons: these modules alone would cost more than that."""
    read_path = (
        "from dogwatch.store.sqlite import location, database, home, lease, wakeup; "
        "from dogwatch.store.rows import jobs, places, events, watch, findings, notifications, channels, cursors"
    )
    dear = "dataclasses typing enum logging pathlib contextlib json re hashlib inspect urllib.parse asyncio"
    code = f"{read_path}; import sys; print(*[m for m in {dear.split()} if m in sys.modules])"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {code}"],
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "\n"


def test_ls_itself_needs_no_json(home: Path) -> None:
    """Opening and listing a store with jobs under way stays as light as importing it."""
    filled(home).close()
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n"
        "from dogwatch.store.sqlite.location import open_store\nfrom dogwatch.store.rows.jobs import brief\n"
        "print(len(brief(open_store(sys.argv[1], readonly=True, make=False))))\n"
        "print(*[m for m in ('json', 're', 'enum', 'typing', 'hashlib') if m in sys.modules])"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(home)], env=clean, capture_output=True, text=True, check=True
    )
    assert done.stdout == "4\n\n"
