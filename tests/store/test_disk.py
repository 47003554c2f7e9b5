"""Full disks, read-only disks, and disks that fail while they are told to be sure."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dogwatch.errors import StoreError, StoreFull, StoreReadOnly
from dogwatch.store.rows import deliveries, events, jobs, notifications, tick
from dogwatch.store.rows.channels import ALONE, TERMINAL
from dogwatch.store.rows.deliveries import Decision
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.location import open_store
from tests.conftest import needs_root, needs_tool
from tests.store.sample import NOW, everything, fill_up, filled, finish, job, mounted, numbered, worker


def commit_until_full(store, first: int = 100) -> int:
    """Numbered ticks until the disk takes no more; the number of the last one that was taken."""
    for n in range(first, first + 20_000):
        try:
            tick.commit(store, numbered(n))
        except StoreFull:
            return n - 1
    raise AssertionError("the disk never filled up")


def agreed(store) -> int:
    """The number that every part of the last tick carries."""
    document: Any = jobs.documents(store, refs=["here/process:1"])[0]
    step = document["progress"]["step"]
    assert events.read(store, limit=1, newest=True)[0]["body"] == {"percent": step}
    assert notifications.unrouted(store)[-1].key == f"n{step}"
    assert document["findings"][0]["text"] == str(step)
    return int(step)


@needs_root
def test_a_full_disk_stops_writing_and_nothing_else(tmp_path: Path) -> None:
    """What was committed stays whole and readable, by this process and a new one; the reserve makes room."""
    with mounted(tmp_path / "disk", "size=3m") as disk:
        home = disk / "home"
        store = filled(home)
        store.set_reserve()
        fill_up(disk, leave=100_000)
        last = commit_until_full(store)
        with pytest.raises(StoreFull, match="no room"):
            # Long, because the log keeps the room of the tick that did not fit, and a short one may.
            register(store, replace(job(99), description="long " * 40_000), NOW, 1.0)
        assert agreed(store) == last
        with open_store(str(home), readonly=True) as reader:
            assert agreed(reader) == last
        with pytest.raises(StoreFull):
            store.back_up(NOW)
        assert not any((home / "backups").iterdir())
        assert store.use_reserve()
        tick.commit(store, numbered(last + 1))
        deliveries.route(store, [(1, {TERMINAL: Decision(ALONE, "", NOW)})], NOW)
        assert agreed(store) == last + 1
        assert store.damaged_events() == []
        store.close()


@needs_root
def test_a_store_closed_in_order_opens_for_reading_on_a_full_disk(tmp_path: Path) -> None:
    """Even with no room for the log's shared memory, what is known can be shown; writing says why not."""
    with mounted(tmp_path / "disk", "size=2m") as disk:
        home = disk / "home"
        with filled(home) as store:
            before = everything(store)
        assert not (home / "dogwatch.db-wal").exists()
        fill_up(disk)
        for readonly in (True, False):
            with open_store(str(home), readonly=readonly) as store:
                assert everything(store) == before
        with open_store(str(home)) as store, pytest.raises(StoreFull):
            tick.commit(store, numbered(7))


def use_up_inodes(disk: Path, name: str) -> None:
    with contextlib.suppress(OSError):
        for n in range(1000):
            (disk / f"{name}{n}").touch()
    assert os.statvfs(disk).f_favail == 0


@needs_root
def test_a_disk_out_of_inodes_is_a_full_disk(tmp_path: Path) -> None:
    """An open store goes on; one opened later is read, says that there is no room, and recovers by itself."""
    with mounted(tmp_path / "disk", "size=4m,nr_inodes=20") as disk:
        home = disk / "home"
        store = filled(home)
        use_up_inodes(disk, "first")
        tick.commit(store, numbered(7))
        assert agreed(store) == 7
        store.close()
        use_up_inodes(disk, "second")
        with open_store(str(home)) as store:
            assert agreed(store) == 7
            with pytest.raises(StoreFull):
                tick.commit(store, numbered(8))
            for path in disk.glob("second*"):
                path.unlink()
            tick.commit(store, numbered(8))
            assert agreed(store) == 8
        use_up_inodes(disk, "third")
        with pytest.raises(StoreFull):
            open_store(str(disk / "another"))


@needs_root
@needs_tool("mkfs.ext4")
def test_a_disk_that_turns_read_only_under_an_open_store_is_told_and_read_on(tmp_path: Path) -> None:
    """As ext4 does by itself after an error: everything can be read, nothing is said to be written."""
    image, disk = tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * 1024 * 1024)
    subprocess.run(["/sbin/mkfs.ext4", "-q", "-O", "^has_journal", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    try:
        store = filled(disk / "home")
        before = everything(store)
        subprocess.run(["mount", "-o", "remount,abort", disk], check=True)
        for _ in range(2):
            with pytest.raises(StoreReadOnly, match="read-only"):
                tick.commit(store, numbered(7))
            assert everything(store) == before
        store.close()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@needs_root
def test_a_store_on_a_read_only_disk_can_be_read(tmp_path: Path) -> None:
    """Whether the last writer closed it or was killed and left a log behind; none of them can be written."""
    with mounted(tmp_path / "disk", "size=4m") as disk:
        with filled(disk / "tidy") as store:
            before = everything(store)
            shutil.copytree(disk / "tidy", disk / "left")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for name in ("tidy", "left"):
            for readonly in (True, False):
                with open_store(str(disk / name), readonly=readonly) as store:
                    assert everything(store) == before
                    with pytest.raises(StoreReadOnly):
                        tick.commit(store, numbered(7))
        with pytest.raises(StoreReadOnly):
            open_store(str(disk / "new"))
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        with open_store(str(disk / "left")) as store:
            tick.commit(store, numbered(7))
            assert agreed(store) == 7


def test_a_limit_on_file_size_is_a_full_disk(home: Path) -> None:
    """EFBIG, which SQLite reports as an I/O error, is told as what it is."""
    store = filled(home)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = os.stat(home / "dogwatch.db-wal").st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, hard))
    try:
        last = commit_until_full(store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert agreed(store) in (last, 5)
    tick.commit(store, numbered(last + 1))
    assert agreed(store) == last + 1


@needs_tool("strace")
@pytest.mark.parametrize("failing", ["fsync,fdatasync:error=EIO:when=4..5", "pwrite64:error=EIO:when=30..31"])
def test_a_failed_sync_is_never_tried_again_on_the_same_connection(home: Path, failing: str) -> None:
    """After EIO the connection is dropped, the tick is told as failed, and the next try is on a new one."""
    filled(home, ticks=0).close()
    trace = ("strace", "-f", "-o", "/dev/null", "-e", f"inject={failing}")
    code, out, err = finish(worker("stubborn", home, 12, wrapper=trace))
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    failures = [line for line in lines if line[0] == "failed"]
    assert failures
    assert {line[2] for line in failures} == {"StoreError"}
    assert {line[3] for line in failures} == {"dropped"}
    assert [int(line[1]) for line in lines if line[0] == "committed"] == list(range(1, 13))
    store = open_store(str(home))
    assert agreed(store) == 12
    assert store.damaged_events() == []
    texts = [event["text"] for event in events.read(store) if event["kind"] == "job.state"]
    assert list(dict.fromkeys(texts)) == [f"step {n}" for n in range(1, 13)]


@needs_tool("strace")
def test_a_disk_that_fails_from_now_on_claims_nothing(home: Path) -> None:
    """With every later sync failing, no tick is reported as committed, and what was before is intact."""
    filled(home, ticks=3).close()
    trace = ("strace", "-f", "-o", "/dev/null", "-e", "inject=fsync,fdatasync:error=EIO:when=2+")
    process = worker("stubborn", home, 5, wrapper=trace)
    assert process.stdout is not None
    seen = [process.stdout.readline().split() for _ in range(6)]
    process.kill()
    process.communicate()
    assert [line for line in seen if line[0] == "committed" and line[1] != "1"] == []
    assert [line[0] for line in seen].count("failed") >= 5
    store = open_store(str(home))
    assert store.damaged_events() == []
    with pytest.raises(StoreError, match="no place"):
        tick.commit(store, tick.Tick(NOW, 1.0, places=(tick.PlaceUpdate("moon", NOW, True),)))
