"""The lease dies with its holder, and the wake-up wakes whoever waits."""

from __future__ import annotations

import json
import os
import select
import signal
from pathlib import Path

import pytest

from dogwatch.errors import HomeRefused, LeaseHeld, StoreFull
from dogwatch.store.sqlite import disk_reserve as reserve
from dogwatch.store.sqlite import lease
from dogwatch.store.sqlite.wakeup import WakeUp, wake
from tests.conftest import needs_root
from tests.store.sample import NOW, fill_up, mounted, worker


def test_the_second_watcher_is_told_who_the_first_one_is(home: Path) -> None:
    """It names the pid and the time, and the first one notifications nothing."""
    with lease.take(str(home), "ann at the api", NOW):
        with pytest.raises(LeaseHeld, match=rf"ann at the api \(pid {os.getpid()} .*since \d\d:00"):
            lease.take(str(home), "bob", NOW)
        held = lease.holder(str(home))
        assert held is not None
        assert (held.who, held.pid, held.since) == ("ann at the api", os.getpid(), NOW)
        assert held.host == os.uname().nodename
    assert lease.holder(str(home)) is None
    lease.take(str(home), "bob", NOW).close()


def test_a_killed_holder_holds_nothing(home: Path) -> None:
    """SIGKILL frees the lease at once, however alive its text looks."""
    process = worker("hold", home)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    held = lease.holder(str(home))
    assert held is not None
    assert held.pid == process.pid
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.communicate()
    assert lease.holder(str(home)) is None
    lease.take(str(home), "the next one", NOW).close()


def test_a_stale_text_with_a_living_pid_holds_nothing(home: Path) -> None:
    """The lock decides, never the pid: here the text names a process that is alive, this one."""
    text = json.dumps({"pid": os.getpid(), "who": "a ghost", "since": NOW})
    (home / "watch.lock").write_text(text)
    (home / "watch.lock").chmod(0o600)
    assert lease.holder(str(home)) is None
    lease.take(str(home), "ann", NOW).close()


def test_asking_who_watches_never_keeps_anybody_from_watching(home: Path) -> None:
    """A hundred questions do not get in the way of a hundred watchers."""
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            for _ in range(3000):
                lease.holder(str(home))
            os._exit(0)
        children.append(child)
    for _ in range(100):
        lease.take(str(home), "ann", NOW).close()
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


def test_a_wakeup_that_nobody_waits_for_is_silent(home: Path) -> None:
    """Waking never blocks and never fails, with no FIFO, with no reader, or with a full pipe."""
    wake(str(home))
    waiting = WakeUp(str(home))
    for _ in range(70_000):
        wake(str(home))
    assert select.select([waiting], [], [], 5)[0] == [waiting]
    assert waiting.clear() is True
    assert waiting.clear() is False
    assert select.select([waiting], [], [], 0)[0] == []
    waiting.close()
    wake(str(home))


def test_a_file_in_the_place_of_the_wakeup_is_not_written_to(home: Path) -> None:
    """Whatever lies there is left as it is, and the watcher says so."""
    (home / "wake").write_text("mine")
    wake(str(home))
    assert (home / "wake").read_text() == "mine"
    with pytest.raises(HomeRefused, match="not a FIFO"):
        WakeUp(str(home))


@needs_root
def test_the_reserve_makes_room_on_a_full_disk(tmp_path: Path) -> None:
    """A mebibyte is really allocated, and giving it up gives a mebibyte back."""
    with mounted(tmp_path / "disk", "size=4m") as disk:
        reserve.allocate(str(disk))
        assert reserve.allocated(str(disk))
        fill_up(disk)
        with pytest.raises(OSError, match="No space"):
            (disk / "more").write_bytes(bytes(200_000))
        assert reserve.release(str(disk)) is True
        (disk / "more").write_bytes(bytes(900_000))
        assert reserve.release(str(disk)) is False
        with pytest.raises(StoreFull):
            reserve.allocate(str(disk))
        assert not (disk / "reserve").exists()
