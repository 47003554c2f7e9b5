"""Many processes at once, and processes that are killed in the middle of it."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from dogwatch.errors import StoreError
from dogwatch.store.rows import events, findings, jobs, notifications, tick
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite import migrations, write_lock
from dogwatch.store.sqlite.connection import connect
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from tests.conftest import needs_tool
from tests.store.sample import NOW, everything, filled, finish, job, worker

PROCESSES, EACH = 16, 1000
KILLS = 50


def test_sixteen_processes_register_a_thousand_jobs_each_and_all_are_there(home: Path) -> None:
    """No registration is lost, none is doubled, and the history of all of them is unbroken."""
    workers = [worker("registrations", home, 1 + n * EACH, EACH) for n in range(PROCESSES)]
    results = [finish(process, timeout=280) for process in workers]
    assert [out for _, out, _ in results] == ["registered\n"] * PROCESSES, [err for *_, err in results]
    store = open_store(str(home))
    refs = {one["ref"] for one in jobs.brief(store)}
    assert refs == {f"here/process:{n}" for n in range(1, PROCESSES * EACH + 1)}
    assert len(events.read(store)) == PROCESSES * EACH
    assert store.check() == []


def test_two_processes_that_make_the_store_at_once_both_succeed(tmp_path: Path) -> None:
    """Twenty times over, one makes it and both open it."""
    for number in range(20):
        home = tmp_path / f"home{number}"
        results = [finish(process) for process in [worker("make", home), worker("make", home)]]
        assert [out for _, out, _ in results] == ["made\n", "made\n"], [err for *_, err in results]
        with open_store(str(home), make=False) as store:
            assert store.check() == []


def reported(process: subprocess.Popen[str]) -> list[int]:
    """What the writer said to have committed before it died; a torn last line was not said."""
    with process:
        assert process.stdout is not None
        out = process.stdout.read()  # communicate() would pass over what readline() had taken in already
    return [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]


def newest_tick(store: Store) -> int:
    """The number of the last tick, after making sure that all its parts carry it."""
    (tracked,) = tick.load(store, "here")
    step = 0 if tracked.progress is None else int(tracked.progress["step"] or 0)
    happened = [event["body"]["percent"] for event in events.read(store) if event["kind"] == "job.state"]
    assert happened == list(range(1, step + 1))
    assert [notification.key for notification in notifications.unrouted(store)] == [f"n{n}" for n in happened]
    assert [one.text for one in findings.open_findings(store)] == ([str(step)] if step else [])
    assert tracked.memory == ({"n": step} if step else {})
    return step


def test_fifty_kills_lose_nothing_that_was_reported_and_leave_nothing_half(home: Path) -> None:
    """A writer is killed with SIGKILL at a random moment, fifty times on one store."""
    chance = random.Random(50)
    with open_store(str(home)) as store:
        register(store, job(), NOW, 1.0)
    last = 0
    for _ in range(KILLS):
        process = worker("ticks", home, last + 1)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        said = [int(first), *reported(process)]
        with open_store(str(home)) as store:
            there = newest_tick(store)
        assert there in (said[-1], said[-1] + 1)
        last = there
    with open_store(str(home)) as store:
        assert store.check() == []


@needs_tool("strace")
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_kill_at_each_system_call_of_a_commit_leaves_all_or_nothing(home: Path, call: str) -> None:
    """Not at random moments but at each of the first calls that touch the disk."""
    with open_store(str(home)) as store:
        register(store, job(), NOW, 1.0)
    for when in range(1, 26):
        copy = home.parent / f"copy-{call}-{when}"
        shutil.copytree(home, copy)
        trace = ("strace", "-f", "-o", "/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={when}")
        said = reported(worker("ticks", copy, 1, wrapper=trace))
        with open_store(str(copy)) as store:
            there = newest_tick(store)
            assert there in (len(said), len(said) + 1)
            assert store.check() == []


@needs_tool("strace")
def test_a_kill_while_the_store_is_made_leaves_one_that_opens(tmp_path: Path) -> None:
    """At each write, sync, rename and open of making it: the next process finds or makes a whole store."""
    for call in ("pwrite64", "fsync", "fdatasync", "rename", "flock"):
        for when in (1, 2, 3, 5, 8):
            home = tmp_path / f"{call}{when}"
            kill = f"inject={call}:signal=SIGKILL:when={when}"
            finish(worker("make", home, wrapper=("strace", "-f", "-o", "/dev/null", "-e", kill)))
            with open_store(str(home)) as store:
                assert store.check() == []
                register(store, job(), NOW, 1.0)


@needs_tool("strace")
def test_a_kill_during_a_migration_leaves_the_old_schema_or_the_new(home: Path) -> None:
    """Never half of one: each step is there with its row, its number and its effect, or not at all, and
    a copy from before is kept."""
    with filled(home) as store:
        truth = everything(store)
    ours, states, out = migrations.LATEST, set(), ""
    for when in itertools.count(1, 17):
        if out:
            break
        copy = home.parent / f"copy{when}"
        shutil.copytree(home, copy)
        kill = f"inject=pwrite64,fdatasync:signal=SIGKILL:when={when}"
        _, out, _ = finish(worker("upgrade", copy, wrapper=("strace", "-f", "-o", "/dev/null", "-e", kill)))
        db = connect(str(copy / "dogwatch.db"), "mode=rw")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        columns = [row[1] for row in db.execute("PRAGMA table_info(later)")]
        steps = [row[0] for row in db.execute("SELECT number FROM migrations ORDER BY number")]
        assert columns == {ours: [], ours + 1: ["key", "text"], ours + 2: ["key", "text", "more"]}[version]
        assert steps == list(range(1, version + 1))
        if version > ours:
            kept = sqlite3.connect(copy / "backups" / f"before-schema-{ours + 1}.db")
            assert kept.execute("PRAGMA user_version").fetchone() == (ours,)
            kept.close()
        else:
            db.close()
            with open_store(str(copy)) as store:
                assert everything(store) == truth
        db.close()
        states.add(version)
    assert states == {ours, ours + 1, ours + 2}


def test_migrations_run_once(home: Path) -> None:
    """A second run of the same steps changes nothing."""
    with open_store(str(home)) as store:
        migrations.migrate(store.db, NOW)
        assert store.db.execute("SELECT number, name FROM migrations").fetchall() == [
            (1, "schema"),
        ]


def test_a_writer_that_hangs_is_told_and_not_waited_for_forever(home: Path) -> None:
    """Whoever waits for the write lock in vain says so; when it is free again, it writes."""
    open_store(str(home)).close()
    held = write_lock.acquire(str(home))
    with pytest.raises(StoreError, match="has been writing"):
        write_lock.acquire(str(home), seconds=0.1)
    os.close(held)
    os.close(write_lock.acquire(str(home), seconds=0.1))
