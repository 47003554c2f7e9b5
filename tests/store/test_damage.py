"""Bit rot and cut files: never a silent wrong answer, and a repair that says what is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from dogwatch.errors import DogwatchError, StoreDamaged, StoreError
from dogwatch.model import Outcome
from dogwatch.store.rows import deliveries, events, jobs, notifications, tick
from dogwatch.store.rows.channels import ALONE, SENT, TERMINAL
from dogwatch.store.rows.deliveries import Decision
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.location import Home, open_store
from tests.store.sample import NOW, ended, everything, filled, finish, job, numbered, worker

COPIES = 500
HOUR = 3600.0


def mutate(chance: random.Random, path: Path) -> str:
    """Flip a bit, cut the end, zero a stretch or scribble over one; says what it did."""
    content = bytearray(path.read_bytes())
    where = chance.randrange(len(content))
    how = chance.choice(["flip", "flip", "flip", "cut", "zero", "scribble"])
    if how == "flip":
        content[where] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del content[where:]
    else:
        length = chance.randrange(1, 2000)
        patch = bytes(length) if how == "zero" else chance.randbytes(length)
        content[where : where + length] = patch[: len(content) - where]
    path.write_bytes(content)
    return f"{how} {path.name} at {where}"


def test_no_mutated_copy_gives_a_wrong_answer(tmp_path: Path) -> None:
    """Of 500 damaged copies, database and log, each either reads exactly as the original or says that it
    is damaged."""
    chance = random.Random(20261115)
    crashed, tidy, copy = tmp_path / "crashed", tmp_path / "tidy", tmp_path / "copy"
    store = filled(tidy, ticks=30, count=20)
    truth = everything(store)
    shutil.copytree(tidy, crashed)
    store.close()
    wrong, silent = [], 0
    for number in range(COPIES):
        shutil.copytree(chance.choice([crashed, tidy]), copy)
        victims = [path for path in sorted(copy.glob("dogwatch.db*")) if path.suffix != ".db-shm"]
        did = mutate(chance, chance.choice(victims))
        try:
            with open_store(str(copy), readonly=bool(number % 2)) as store:
                found = everything(store)
        except DogwatchError:
            pass
        else:
            silent += found == truth
            if found != truth and not found["damage"]:
                wrong.append(did)
        shutil.rmtree(copy)
    assert wrong == []
    assert silent < COPIES * 0.6


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE jobs SET outcome = 'succeeded', state = 'ended' WHERE key = 1",
        "UPDATE jobs SET active = 0 WHERE key = 1",
        "UPDATE findings SET text = 'all is well'",
        "UPDATE places SET unreachable_since = NULL, answered_at = 1",
        "UPDATE notifications SET text = 'never mind' WHERE id = 2",
        "UPDATE readings SET body = '{}' WHERE key = 2",
        "UPDATE tallies SET rows = rows - 1 WHERE name = 'readings'",
        "UPDATE tallies SET rows = rows - 1 WHERE name = 'jobs.active'",
    ],
)
def test_a_row_that_was_changed_behind_our_back_is_named(home: Path, statement: str) -> None:
    """Each kind of row is confirmed when it is read, and the check names it too."""
    store = filled(home)
    store.db.execute(statement)
    with pytest.raises(StoreDamaged, match=r"seal|add up"):
        everything(store)
    assert any("seal" in line or "tally" in line for line in store.check())


def later(store, first: int, last: int) -> None:
    for n in range(first, last + 1):
        tick.commit(store, numbered(n))


def test_a_damaged_page_is_repaired_from_the_backup_and_what_still_proves(home: Path) -> None:
    """With the newest rows readable, nothing is lost: the backup holds the rest."""
    store = filled(home, ticks=5)
    store.back_up(NOW)
    later(store, 6, 20)
    register(store, job(50), NOW, 1.0)
    before = everything(store)
    store.db.execute("UPDATE jobs SET name = 'wrong' WHERE key = 3")
    store.close()
    with open_store(str(home)) as store, pytest.raises(StoreDamaged):
        jobs.documents(store)
    done = Home(str(home)).repair(NOW + 60)
    assert done.restored_from is not None
    assert done.restored_from.endswith("dogwatch-20270115T08.db")
    assert done.lost == "what could not be read or confirmed: row 3 of jobs"
    store = open_store(str(home))
    assert store.check() == []
    after = everything(store)
    assert {key: after[key] for key in ("documents", "brief", "notifications", "tracked")} == {
        key: before[key] for key in ("documents", "brief", "notifications", "tracked")
    }
    assert after["events"][:-1] == before["events"]
    assert (after["events"][-1]["kind"], after["events"][-1]["level"]) == ("store.repaired", "critical")
    later(store, 21, 22)
    assert store.damaged_events() == []


def test_a_broken_history_is_taken_up_to_the_break_and_the_rest_named(home: Path) -> None:
    """Lost numbers are not used again: who followed the events sees the gap, and who repaired it owns up."""
    store = filled(home, ticks=5, count=4)
    store.back_up(NOW)
    later(store, 6, 15)
    assert len(events.read(store)) == 19
    for name in ("events_stay", "events_remain"):
        store.db.execute(f"DROP TRIGGER {name}")
    store.db.execute("UPDATE events SET text = 'x' WHERE seq = 14")
    store.close()
    done = Home(str(home)).repair(NOW + 60)
    assert done.lost.startswith("events 14 to 19 are lost, from between 2027-01-1")
    store = open_store(str(home))
    assert [event["seq"] for event in events.read(store)] == [*range(1, 14), 20]
    assert events.read(store, since=19)[0]["body"]["lost"] == [14, 19]
    assert (store.damaged_events(), store.check()) == ([], [])
    found: Any = jobs.documents(store, refs=["here/process:1"])
    assert found[0]["progress"]["step"] == 15


@pytest.mark.parametrize("fate", ["deleted", "zeroed", "garbage"])
def test_a_database_that_is_gone_is_restored_from_the_newest_backup(home: Path, fate: str) -> None:
    """Nothing can be read of it any more; the commit marker still tells how many events are lost."""
    store = filled(home, ticks=2, count=4)
    store.back_up(NOW)
    later(store, 3, 4)
    store.back_up(NOW + HOUR)
    before = everything(store)
    later(store, 5, 9)
    store.close()
    for path in home.glob("dogwatch.db*"):
        if fate == "deleted":
            path.unlink()
        else:
            size = path.stat().st_size
            path.write_bytes(bytes(size) if fate == "zeroed" else os.urandom(size))
    with pytest.raises(StoreError):
        open_store(str(home))
    done = Home(str(home)).repair(NOW + HOUR + 60)
    assert done.restored_from is not None
    assert done.restored_from.endswith("dogwatch-20270115T09.db")
    assert "events 9 to 13 are lost" in done.lost
    store = open_store(str(home))
    after = everything(store)
    assert (after["documents"], after["events"][:-1]) == (before["documents"], before["events"])
    assert store.check() == []


def test_a_damaged_backup_is_passed_over(home: Path) -> None:
    """The newest backup that is intact is taken, whatever their names say."""
    store = filled(home, ticks=2)
    good = store.back_up(NOW)
    later(store, 3, 4)
    bad = Path(store.back_up(NOW + HOUR))
    content = bytearray(bad.read_bytes())
    spot = content.index(b"here/process:1")
    content[spot + 3] ^= 1
    bad.write_bytes(content)
    store.close()
    (home / "dogwatch.db").unlink()
    assert Home(str(home)).repair(NOW + HOUR + 60).restored_from == good


def test_without_a_backup_what_proves_is_kept(home: Path) -> None:
    """A new store takes over every intact row and the history up to the break, and says what it lacks."""
    store = filled(home, ticks=5, count=4)
    before = everything(store)
    store.db.execute("UPDATE jobs SET outcome = 'failed' WHERE key = 4")
    store.close()
    done = Home(str(home)).repair(NOW + 60)
    assert done.restored_from is None
    assert "row 4 of jobs" in done.lost
    store = open_store(str(home))
    kept = jobs.documents(store, everything=True)
    assert kept == [one for one in before["documents"] if one["ref"] != "here/process:4"]
    assert events.read(store)[:-1] == before["events"]
    assert store.check() == []


def test_a_restored_backup_does_not_send_old_notices_again(home: Path) -> None:
    """What the damaged file says was sent stays sent; what only an old backup holds as unsent is let go."""
    store = filled(home, ticks=2)
    store.back_up(NOW)
    for notification in notifications.unrouted(store):
        deliveries.route(store, [(notification.id, {TERMINAL: Decision(ALONE, "", NOW)})], NOW + 10)
    for message in deliveries.messages(store):
        deliveries.tried(store, message.key, NOW + 10, deliveries.Try(SENT, "", NOW))
    tick.commit(store, numbered(3))
    store.db.execute("UPDATE jobs SET name = 'wrong' WHERE key = 3")
    store.close()
    Home(str(home)).repair(NOW + 60)
    with open_store(str(home)) as store:
        assert [notification.key for notification in deliveries.unshown(store)] == ["n3"]
    (home / "dogwatch.db").unlink()
    assert "2 old notifications are not sent again" in Home(str(home)).repair(NOW + 2 * HOUR).lost
    with open_store(str(home)) as store:
        assert deliveries.unshown(store) == []


def test_mutated_stores_are_repaired_to_sound_ones(tmp_path: Path) -> None:
    """Whatever 60 damaged copies have become, after the repair they check intact and know every job of the
    backup."""
    chance = random.Random(7)
    home, copy = tmp_path / "home", tmp_path / "copy"
    store = filled(home, ticks=10, count=12)
    store.back_up(NOW)
    known = {one["ref"] for one in jobs.documents(store, everything=True)}
    later(store, 11, 20)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate("here/process:2", ended(Outcome.FAILED)),)))
    for _ in range(60):
        shutil.copytree(home, copy)
        victims = [path for path in sorted(copy.glob("dogwatch.db*")) if path.suffix != ".db-shm"]
        did = mutate(chance, chance.choice(victims))
        done = Home(str(copy)).repair(NOW + 60)
        with open_store(str(copy)) as repaired:
            assert repaired.check() == [], (did, done)
            found = jobs.documents(repaired, everything=True)
            assert {one["ref"] for one in found} >= known, (did, done)
        shutil.rmtree(copy)


def test_a_repair_that_is_killed_can_be_begun_again(home: Path) -> None:
    """At whatever system call: afterwards there is a intact store, or a damaged one that can be repaired."""
    store = filled(home, ticks=3)
    store.back_up(NOW)
    later(store, 4, 6)
    store.db.execute("UPDATE jobs SET name = 'wrong' WHERE key = 3")
    store.close()
    for number, call in enumerate(["rename", "unlink", "fsync", "fdatasync", "pwrite64"] * 3):
        copy = home.parent / f"copy{number}"
        shutil.copytree(home, copy)
        kill = f"inject={call}:signal=SIGKILL:when={1 + number // 5 * 2}"
        trace = ("strace", "-f", "-o", "/dev/null", "-e", kill)
        code, _, err = finish(worker("mend", copy, wrapper=trace))
        assert code in (0, -signal.SIGKILL, 128 + signal.SIGKILL), err
        Home(str(copy)).repair(NOW + 120)
        with open_store(str(copy)) as store:
            assert store.check() == []
            found: Any = jobs.documents(store, refs=["here/process:1"])
            assert found[0]["progress"]["step"] == 6
