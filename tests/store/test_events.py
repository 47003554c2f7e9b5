"""The history only grows, and whatever is done to it behind our back is named by its range."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dogwatch.errors import StoreDamaged
from dogwatch.store.rows import cursors, events, tick
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from tests.store.sample import NOW


def history(home: Path, count: int = 20) -> Store:
    store = open_store(str(home))
    for n in range(1, count + 1):
        ref = f"here/process:{n % 2}"
        tick.commit(store, tick.Tick(NOW + n, float(n), events=(tick.Event("job.state", f"event {n}", ref=ref),)))
    return store


def tamper(store: Store, *statements: str) -> None:
    """Change the file as somebody with sqlite3 in hand would."""
    db = sqlite3.connect(store.path)
    for name in ("events_stay", "events_remain"):
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_events_are_read_from_a_number_on(home: Path) -> None:
    """Since, limit, the newest few and those of one job."""
    store = history(home)
    assert [event["seq"] for event in events.read(store, since=17)] == [18, 19, 20]
    assert [event["seq"] for event in events.read(store, since=2, limit=3)] == [3, 4, 5]
    assert [event["seq"] for event in events.read(store, limit=2, newest=True)] == [19, 20]
    assert [event["seq"] for event in events.read(store, since=15, ref="here/process:0")] == [16, 18, 20]
    assert events.read(store, since=20) == events.read(store, since=99) == []
    assert events.read(store)[0] == {
        "seq": 1,
        "at": "2027-01-15T08:00:01.000Z",
        "kind": "job.state",
        "ref": "here/process:1",
        "place": None,
        "level": "info",
        "text": "event 1",
        "body": {},
    }


@pytest.mark.parametrize("statement", ["UPDATE events SET text = 'x'", "DELETE FROM events WHERE seq = 3"])
def test_an_event_is_neither_changed_nor_deleted(home: Path, statement: str) -> None:
    """The database itself refuses."""
    store = history(home)
    with pytest.raises(sqlite3.IntegrityError, match="events are never"):
        store.db.execute(statement)


@pytest.mark.parametrize(
    ("statement", "first", "last"),
    [
        ("UPDATE events SET text = 'nothing happened' WHERE seq = 7", 7, 7),
        ("UPDATE events SET at = at - 86400 WHERE seq BETWEEN 7 AND 9", 7, 9),
        ("DELETE FROM events WHERE seq BETWEEN 5 AND 8", 5, 8),
        ("DELETE FROM events WHERE seq > 17", 18, 20),
        ("DELETE FROM events", 1, 20),
        ("DELETE FROM events WHERE seq = 1", 1, 1),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 4", 4, 5),
        ("UPDATE chain SET seq = 19", 20, 20),
        (
            "INSERT INTO events SELECT 21, at, mono, kind, ref, place, level, text, body, hash FROM events LIMIT 1",
            20,
            21,
        ),
    ],
)
def test_damage_is_named_by_its_range(home: Path, statement: str, first: int, last: int) -> None:
    """Changed, deleted, cut off or added: the check says which events, and reading them does not pretend."""
    store = history(home)
    tamper(store, statement)
    found = store.damaged_events()
    assert found
    assert (min(one[0] for one in found), max(one[1] for one in found)) == (first, last), found
    with pytest.raises(StoreDamaged):
        events.read(store)


def test_a_whole_history_is_sound(home: Path) -> None:
    """No news is good news only because somebody looked."""
    assert history(home, 300).damaged_events() == []


def test_a_cursor_remembers_how_far_somebody_read(home: Path) -> None:
    """By name, and from the beginning for whoever never read."""
    store = history(home, 3)
    assert cursors.read(store, "patrol") == 0
    cursors.write(store, "patrol", 2)
    cursors.write(store, "patrol", 3)
    assert (cursors.read(store, "patrol"), cursors.read(store, "other")) == (3, 0)
    assert store.check() == []
