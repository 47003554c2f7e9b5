"""Which places are to be polled before what is stored of them is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from dogwatch.model import Job, Place
from dogwatch.store.rows import places, tick
from dogwatch.store.rows.places import add_place
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.wire.documents.watch import PlaceFacts
from tests.store.sample import NOW


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """A job on this machine and one on the host `lab`, which may be asked once a minute; `idle` has none."""
    with open_store(str(home)) as opened:
        for name in ("lab", "idle"):
            add_place(opened, Place(name, "ssh", {"ssh": name, "config": None}, 60.0))
        register(opened, Job("here/process:1", "here", "process", "1", "local"), NOW, 1.0)
        register(opened, Job("lab/slurm:7", "lab", "slurm", "7", "far"), NOW, 1.0)
        yield opened


def polled(store: Store, at: float, seen: bool = True, **facts: object) -> None:
    """The host was asked, and answered or did not."""
    kept = cast("PlaceFacts", facts)
    update = tick.PlaceUpdate("lab", at, answered=seen, why="" if seen else "no answer", facts=kept)
    tick.commit(store, tick.Tick(at, at, places=(update,)))


def test_places_with_jobs_that_were_never_polled_are_due(store):
    """One without jobs is not."""
    assert places.unpolled(store, NOW) == {"here": None, "lab": None}


def test_a_place_is_due_again_when_its_floor_is_over(store):
    """Whether it answered or not; a time that lies ahead forbids nothing."""
    for seen in (True, False):
        polled(store, NOW, seen)
        assert "lab" not in places.unpolled(store, NOW + 59)
        assert places.unpolled(store, NOW + 60)["lab"] == NOW
        assert "lab" in places.unpolled(store, NOW - 3600)


def test_a_place_that_refuses_us_is_left_alone_for_ten_minutes(store):
    """Until somebody asks it on purpose and it answers, or fails in another way."""
    polled(store, NOW, seen=False, locked_out=True)
    assert "lab" not in places.unpolled(store, NOW + 599)
    assert "lab" in places.unpolled(store, NOW + 600)
    polled(store, NOW + 600, seen=False)
    assert "lab" in places.unpolled(store, NOW + 661)


def test_an_outage_keeps_what_was_known_of_the_place(store):
    """That it does not answer now says nothing about its GPUs."""
    polled(store, NOW, gpus={"count": 4})
    polled(store, NOW + 60, seen=False, locked_out=True)
    (lab,) = [place for place in places.places(store) if place["name"] == "lab"]
    assert lab["facts"] == {"gpus": {"count": 4}, "locked_out": True}
