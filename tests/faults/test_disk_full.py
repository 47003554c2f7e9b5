"""A full disk under the store: what is read, what is said, and what is made up for when there is room again."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.assemble import channel
from dogwatch.channels.interface import Receipt
from dogwatch.clock import Clock
from dogwatch.errors import StoreFull
from dogwatch.model import Message
from dogwatch.settings import Settings
from dogwatch.store.rows import deliveries
from dogwatch.watcher.alerts.dispatch import Dispatch
from tests.conftest import kill_recorded, needs_root
from tests.faults.scene import events, gated, jobs, refused, run_directories, states, watcher
from tests.store.sample import fill_up, filled, mounted
from tests.support import wait_until

pytestmark = needs_root


@pytest.fixture
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home that is a small disk of its own; everything else of the test lies elsewhere."""
    options = getattr(request, "param", "size=6m")
    with mounted(tmp_path / "home", options) as path:
        yield path
        kill_recorded(path)


def full_findings(dogwatch) -> list[str]:
    return [event["kind"] for event in events(dogwatch, "store.full", "finding.resolved") if event["ref"] is None]


def test_a_disk_that_fills_up_under_the_daemon_loses_no_ending(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """Reads go on, the reserve carries the news, and endings of meanwhile are recorded when there is room."""
    for name, code in (("good", 0), ("bad", 3)):
        gated(dogwatch, tmp_path / name, code)
    process, said = watcher(spawn, home)
    wait_until(lambda: all(job["state"] == "running" for job in jobs(dogwatch).values()))
    assert (home / "reserve").stat().st_size >= 1 << 20
    fill_up(home)
    wait_until(lambda: full_findings(dogwatch) == ["store.full"])
    assert events(dogwatch, "store.full")[0]["level"] == "critical"
    fill_up_again(home)
    for name in ("good", "bad"):
        (tmp_path / name).touch()
    wait_until(lambda: said().count("cannot record") == 1)
    for verb in (["ls"], ["status", "bad"], ["events"], ["ls", "--all", "--json"], ["status", "good", "--json"]):
        assert dogwatch(*verb).returncode == 0, verb
    assert {job["state"] for job in jobs(dogwatch).values()} == {"running"}
    assert process.poll() is None
    make_room(home)
    wait_until(lambda: all(job["state"] == "ended" for job in jobs(dogwatch).values()))
    assert states(dogwatch, "good") == ["running", "succeeded"]
    assert states(dogwatch, "bad") == ["running", "failed"]
    assert jobs(dogwatch)["bad"]["exit_code"] == 3
    gated(dogwatch, tmp_path / "later", 0)
    wait_until(lambda: full_findings(dogwatch) == ["store.full", "finding.resolved"])
    assert (home / "reserve").stat().st_size >= 1 << 20
    assert (said().count("cannot record"), said().count("recording again")) == (1, 1)
    assert (said().count("critical: watch: There is no room"), said().count("info: watch: resolved")) == (1, 1)
    assert process.poll() is None
    assert json.loads(dogwatch("doctor", "--json").stdout)["checks"][3]["text"].endswith("intact")


def test_a_wait_that_begins_on_a_full_disk_says_so_and_ends_when_there_is_room(
    dogwatch, spawn, home: Path, tmp_path: Path
) -> None:
    """Whoever waits is told why nothing comes, and sees what is written afterwards though the file could first be
    opened only as one that never changes."""
    gated(dogwatch, tmp_path / "good", 0)
    fill_up(home)
    (home / "reserve").unlink(missing_ok=True)
    fill_up_again(home)
    (tmp_path / "good").touch()
    errors = tmp_path / "errors"
    with errors.open("w") as stderr:
        waiting = spawn("wait", "good", stderr=stderr)
    wait_until(lambda: "There is no room" in errors.read_text())
    assert waiting.poll() is None
    make_room(home)
    assert waiting.wait(timeout=60) == 0


def test_a_daemon_whose_own_messages_do_not_fit_watches_on(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """Narration that cannot be written is lost, and nothing else is."""
    gated(dogwatch, tmp_path / "good", 0)
    with open("/dev/full", "w") as messages:
        process = spawn("daemon", "--interval", "1", stderr=messages)
    wait_until(lambda: jobs(dogwatch)["good"]["state"] == "running")
    fill_up(home)
    wait_until(lambda: full_findings(dogwatch))
    fill_up_again(home)
    (tmp_path / "good").touch()
    make_room(home)
    wait_until(lambda: jobs(dogwatch)["good"]["outcome"] == "succeeded")
    assert process.poll() is None


class Paper:
    """A terminal that keeps what it was told."""

    kind = "terminal"

    def __init__(self) -> None:
        self.lines: list[str] = []

    def deliver(self, message: Message) -> Receipt:
        self.lines += [item.text for item in message.items]
        return Receipt(True)


def test_a_notice_is_said_once_though_the_disk_cannot_note_that_it_was(home: Path) -> None:
    """Sending goes on when the disk is full, and does not become a new alarm every few seconds."""
    paper, clock = Paper(), Clock()
    with filled(home) as store:
        waiting = {notification.text for notification in deliveries.unshown(store)}
        dispatch = Dispatch(store, clock, lambda row: channel(row, Settings(), clock), terminal=paper)
        fill_up(home)
        for _ in range(3):
            with pytest.raises(StoreFull):
                dispatch.step()
        assert sorted(paper.lines) == sorted(waiting)
        assert len(waiting) > 1
        make_room(home)
        dispatch.step()
        assert len(paper.lines) == len(waiting)
        assert deliveries.unshown(store) == []


def test_a_full_disk_that_takes_no_tick_is_said_on_every_channel_at_once(
    dogwatch, spawn, home: Path, tmp_path: Path
) -> None:
    """Once, though nothing can be written, by the tick that was not taken; the ending of meanwhile follows later."""
    outside = tmp_path / "alerts.jsonl"

    def criticals() -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in outside.read_text().splitlines()] if outside.exists() else []
        return [(job["name"], job["text"]) for line in lines if line["level"] == "critical" for job in line["jobs"]]

    dogwatch("alerts", "add", "file", str(outside))
    gated(dogwatch, tmp_path / "bad", 3)
    _, said = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "running")
    (home / "reserve").unlink()
    fill_up(home)
    fill_up_again(home)
    (tmp_path / "bad").touch()
    wait_until(lambda: said().count("still polling, will try again") == 1)
    wait_until(lambda: [name for name, _ in criticals()] == ["watch"])
    make_room(home)
    wait_until(lambda: any("exit code 3" in text for _, text in criticals()), timeout=40)
    assert len(set(criticals())) == len(criticals())
    opened = [text for name, text in criticals() if name == "watch" and not text.startswith("resolved: ")]
    assert opened == [criticals()[0][1]]  # that it is over may come in one message with the ending
    assert said().count("still polling, will try again") == 1
    assert states(dogwatch, "bad") == ["running", "failed"]


def fill_up_again(home: Path) -> None:
    """Take what the reserve had set free as well."""
    with contextlib.suppress(OSError), (home / "more").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def make_room(home: Path) -> None:
    for name in ("ballast", "more"):
        (home / name).unlink(missing_ok=True)


def test_a_job_is_not_registered_by_halves_on_a_full_disk(dogwatch, home: Path, tmp_path: Path) -> None:
    """One sentence, exit code 3, no worker, no run directory, no job; with room again it works."""
    gated(dogwatch, tmp_path / "before", 0)
    before = run_directories(home)
    fill_up(home)
    ran = tmp_path / "ran"
    sentence = refused(dogwatch("run", "--detach", "--", "touch", str(ran)), 3)
    assert "room" in sentence or "space" in sentence
    assert "room" in refused(dogwatch("add", "process", str(os.getpid())), 3)
    assert list(jobs(dogwatch)) == ["before"]
    assert run_directories(home) == before
    make_room(home)
    assert dogwatch("run", "--detach", "--name", "after", "--", "touch", str(ran)).returncode == 0
    assert dogwatch("wait", "after", "--timeout", "20").returncode == 0
    assert ran.exists()


def test_a_nearly_full_disk_takes_a_whole_job_or_none(dogwatch, home: Path, tmp_path: Path) -> None:
    """However little room is left when a run begins: what is registered has run, what is not has not."""
    gated(dogwatch, tmp_path / "before", 0)
    codes = set()
    for pages in (0, 3, 20, 70, 71, 72, 75, 80, 90, 300):
        name, ran = f"try{pages}", tmp_path / f"ran{pages}"
        fill_up(home, leave=pages * 4096)
        done = dogwatch("run", "--detach", "--name", name, "--", "touch", str(ran))
        codes.add(done.returncode)
        make_room(home)
        if done.returncode == 0:
            dogwatch("wait", name, "--timeout", "20")
            assert jobs(dogwatch)[name]["state"] == "ended"
            assert ran.exists() is (jobs(dogwatch)[name]["outcome"] == "succeeded")
        else:
            refused(done, done.returncode)
            assert (name in jobs(dogwatch), ran.exists()) == (False, False), done.stderr
    assert 3 in codes
    assert codes <= {0, 1, 3}


@pytest.mark.parametrize("home", ["size=8m,nr_inodes=40"], indirect=True)
def test_a_disk_without_inodes_is_watched_on_and_takes_no_new_job(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """The files that are open stay usable, so endings are recorded; what needs a new file is refused."""
    gated(dogwatch, tmp_path / "good", 0)
    process, _ = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["good"]["state"] == "running")
    before = run_directories(home)
    with contextlib.suppress(OSError):
        for number in range(100):
            (home / f"inode{number}").touch()
    assert os.statvfs(home).f_ffree == 0
    ran = tmp_path / "ran"
    refused(dogwatch("run", "--detach", "--", "touch", str(ran)), 3)
    assert run_directories(home) == before
    (tmp_path / "good").touch()
    (home / "inode0").unlink()  # the supervisor's end record is a new file too
    wait_until(lambda: jobs(dogwatch)["good"]["outcome"] == "succeeded")
    assert list(jobs(dogwatch)) == ["good"]
    assert process.poll() is None
    assert not ran.exists()
