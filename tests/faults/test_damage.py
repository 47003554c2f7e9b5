"""A damaged, cut, zeroed, deleted or foreign database: refused by the interfaces, mended by a watcher, never "no
jobs"."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.scene import events, gated, jobs, refused, watcher
from tests.support import wait_until

FACES = (["ls"], ["ls", "--all"], ["status", "first"], ["events"], ["patrol"], ["run", "--detach", "--", "true"])


def flip(path: Path) -> None:
    """A few bits in every page but the first, as a failing disk does."""
    rng = random.Random(7)
    content = bytearray(path.read_bytes())
    for page in range(4096, len(content), 4096):
        for _ in range(40):
            content[page + rng.randrange(4096)] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def overwrite(path: Path) -> None:
    path.write_bytes(b"not a database, not at all\n" * 400)


def delete(path: Path) -> None:
    path.unlink()


DAMAGES = (flip, truncate, empty, zero, overwrite, delete)


@pytest.fixture
def store(dogwatch, spawn, home: Path, tmp_path: Path) -> Path:
    """The database of two jobs, one of them newer than the only backup; nobody watches."""
    gated(dogwatch, tmp_path / "first", 0)
    daemon, _ = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["first"]["state"] == "running")
    wait_until(lambda: list((home / "backups").glob("dogwatch-*.db")))
    gated(dogwatch, tmp_path / "second", 0)
    wait_until(lambda: jobs(dogwatch)["second"]["state"] == "running")
    daemon.terminate()
    assert daemon.wait(timeout=10) == 0
    return home / "dogwatch.db"


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_store_is_refused_by_the_faces_and_mended_by_the_daemon(
    dogwatch, spawn, store: Path, home: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """One sentence with the remedy, exit code 3; the daemon restores, owns up to what is lost, and watches on."""
    newest = events(dogwatch)[-1]["seq"]
    damage(store)
    for face in FACES:
        if damage is flip and face[0] == "run":
            continue  # the rows that a registration touches may be whole
        assert "`dogwatch doctor`" in refused(dogwatch(*face), 3), face
    examined = dogwatch("doctor")
    assert examined.returncode == 3
    assert "bad " in examined.stdout
    _, said = watcher(spawn, home)
    assert "moving it away" in said()
    (repaired,) = events(dogwatch, "store.repaired")
    assert repaired["level"] == "critical"
    assert repaired["seq"] > newest
    (kept,) = (home / "quarantine").iterdir()
    assert f"the damaged files are in {kept}" in said()
    assert "first" in jobs(dogwatch)
    (tmp_path / "first").touch()
    wait_until(lambda: jobs(dogwatch)["first"]["outcome"] == "succeeded")
    if damage is not flip:
        assert repaired["body"]["lost"]
        assert "are lost" in repaired["text"]
    assert dogwatch("doctor").returncode == 0


def test_a_change_by_another_hand_is_named_by_doctor_with_its_range(dogwatch, store: Path) -> None:
    """A rewritten event is found by the chain, and the numbers are told."""
    changed = [event["seq"] for event in events(dogwatch) if event["text"].endswith(" is watched")]
    assert changed
    store.write_bytes(store.read_bytes().replace(b" is watched", b" is botched"))
    examined = dogwatch("doctor", "--json")
    assert examined.returncode == 3
    bad = [check for check in json.loads(examined.stdout)["checks"] if check["verdict"] == "bad"]
    for seq in changed:
        assert any(f"events {seq} to {seq}" in check["text"] for check in bad), bad
    assert "`dogwatch doctor`" in refused(dogwatch("events"), 3)
    mended = dogwatch("doctor", "--repair")
    assert mended.returncode == 0, mended.stdout
    assert {job["name"] for job in jobs(dogwatch).values()} == {"first", "second"}
    assert len(events(dogwatch, "store.repaired")) == 1
    assert not any(event["text"].endswith("botched") for event in events(dogwatch))


def test_a_lost_log_is_not_taken_for_the_whole_truth(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """A write-ahead log that vanished with its commits leaves a intact older file, which is still refused."""
    gated(dogwatch, tmp_path / "first", 0)
    daemon, _ = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["first"]["state"] == "running")
    gated(dogwatch, tmp_path / "second", 0)
    wait_until(lambda: jobs(dogwatch)["second"]["state"] == "running")
    daemon.kill()
    daemon.wait()
    assert (home / "dogwatch.db-wal").stat().st_size
    (home / "dogwatch.db-wal").unlink()
    (home / "dogwatch.db-shm").unlink()
    assert "has lost its last" in refused(dogwatch("ls"), 3)
    watcher(spawn, home)
    assert "are lost" in events(dogwatch, "store.repaired")[0]["text"]


def test_a_store_deleted_under_the_daemon_ends_it_loudly(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """Exit code 3 and a sentence; no empty database takes its place, and `ls` does not say "no jobs"."""
    gated(dogwatch, tmp_path / "first", 0)
    daemon, said = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["first"]["state"] == "running")
    (home / "dogwatch.db").unlink()
    assert daemon.wait(timeout=20) == 3
    assert "was deleted or replaced while in use" in said().splitlines()[-1]
    assert "Traceback" not in said()
    assert not (home / "dogwatch.db").exists()
    assert "is missing although a store was created here" in refused(dogwatch("ls"), 3)
    assert not (home / "dogwatch.db").exists()


def test_doctor_repair_beside_a_watcher_is_refused(dogwatch, spawn, home: Path) -> None:
    """Only the holder of the lease may replace the database, and the sentence says who that is."""
    daemon, _ = watcher(spawn, home)
    assert f"pid {daemon.pid}" in refused(dogwatch("doctor", "--repair"), 2)


@pytest.mark.parametrize("verb", [*FACES, ["daemon"], ["doctor", "--repair"]], ids=lambda verb: " ".join(verb[:2]))
def test_a_newer_schema_is_refused_and_left_alone(dogwatch, home: Path, tmp_path: Path, verb: list[str]) -> None:
    """Exit code 2, one sentence, and the file is what it was."""
    gated(dogwatch, tmp_path / "first", 0)
    with sqlite3.connect(home / "dogwatch.db") as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {version + 1}")
    db.close()
    before = (home / "dogwatch.db").read_bytes()
    assert "upgrade Dogwatch" in refused(dogwatch(*verb), 2)
    assert (home / "dogwatch.db").read_bytes() == before
    assert not (home / "quarantine").exists()
