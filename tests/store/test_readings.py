"""A job's readings: bounded, evenly spread, gone with the job, and saved from a damaged store."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.store.rows import readings, tick
from dogwatch.store.rows.readings import EVERY, MOST, readings_of, spacing
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import Home, open_store
from tests.store.sample import NOW, ended, filled, job

REF = "here/process:1"


def kept(store: Store, at: float, **body: float) -> None:
    tick.commit(store, tick.Tick(at, at, readings=(tick.Reading(REF, body),)))


def one_job(home: Path) -> Store:
    store = open_store(str(home))
    register(store, job(), NOW, 1.0)
    return store


def test_a_reading_comes_back_as_it_was_measured(home: Path) -> None:
    """With its time, oldest first, and only with what was measured."""
    store = one_job(home)
    kept(store, NOW, step=3, rss=1 << 40, gpu_used=0.25)
    kept(store, NOW + 30, step=4.5, output_bytes=0)
    assert readings_of(store, REF) == [
        {"at": NOW, "step": 3, "rss": 1 << 40, "gpu_used": 0.25},
        {"at": NOW + 30, "step": 4.5, "output_bytes": 0},
    ]
    assert readings_of(store, "here/process:77") == []
    assert store.check() == []


def test_a_reading_of_something_unheard_of_is_a_bug(home: Path) -> None:
    """The whole tick is refused, and nothing of it stays."""
    store = one_job(home)
    with pytest.raises(ValueError, match="no colour"):
        kept(store, NOW, step=1, colour=7)
    assert readings_of(store, REF) == []


def test_two_weeks_of_watching_leave_a_bounded_history_that_spans_all_of_it(home: Path) -> None:
    """The first and the newest are always there, and no stretch between is more than twice as thin as another."""
    store, at, long = one_job(home), 0.0, 14 * 24 * 3600.0
    with store.writing() as db:
        while at < long:
            readings.keep(db, 1, NOW + at, {"step": at})
            at += spacing(at)
    found = [row["at"] for row in readings_of(store, REF)]
    assert MOST / 3 < len(found) <= MOST
    assert found[0] == NOW
    assert found[-1] > NOW + long - spacing(long)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert max(gaps) <= 2 * sorted(gaps)[len(gaps) // 2]
    assert store.check() == []


@given(st.floats(min_value=0, max_value=1e9))
def test_spacing_grows_with_the_age_and_keeps_the_count_within_the_bound(age: float) -> None:
    """A job of any age has room for readings so far apart."""
    assert spacing(age) >= EVERY
    assert age / spacing(age) <= MOST
    assert spacing(age) == EVERY or age / spacing(age) > MOST / 2


def test_too_many_of_all_jobs_together_are_thinned_and_those_of_the_oldest_that_is_over_go(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who watches ten thousand jobs for a year gets a store that cannot be backed up."""
    monkeypatch.setattr(readings, "MOST_OF_ALL", 300)
    store = filled(home, ticks=0, count=4)  # of which two are over
    refs = [f"here/process:{n}" for n in range(1, 5)]
    for turn in range(200):
        tick.commit(
            store, tick.Tick(NOW + turn, 1.0, readings=tuple(tick.Reading(ref, {"step": turn}) for ref in refs))
        )
    counts = [len(readings_of(store, ref)) for ref in refs]
    assert sum(counts) <= 300 + len(refs)
    assert min(counts[:2]) >= readings.FEWEST / 2
    assert store.check() == []


def test_forgetting_a_job_removes_its_readings(home: Path) -> None:
    """And a tick that was under way then adds none."""
    store = one_job(home)
    kept(store, NOW, step=1)
    forget(store, REF, NOW + 1, 2.0)
    kept(store, NOW + 2, step=2)
    assert readings_of(store, REF) == []
    assert store.check() == []


def test_a_job_that_is_added_again_keeps_its_readings_and_another_of_its_name_does_not(home: Path) -> None:
    """A scheduler's ids come back; the time of submission tells."""
    store = open_store(str(home))
    register(store, job(submitted=NOW), NOW, 1.0)
    kept(store, NOW, step=1)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate(REF, ended()),)))
    register(store, job(submitted=NOW), NOW, 1.0)
    assert len(readings_of(store, REF)) == 1
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate(REF, ended()),)))
    register(store, job(submitted=NOW + 5), NOW, 1.0)
    assert readings_of(store, REF) == []


def test_a_repair_saves_readings_and_lets_those_of_forgotten_jobs_go(home: Path) -> None:
    """From the backup and from what the damaged file still proves."""
    store = filled(home, ticks=0)
    kept(store, NOW, step=1)
    tick.commit(store, tick.Tick(NOW, 1.0, readings=(tick.Reading("here/process:2", {"step": 9}),)))
    store.back_up(NOW)
    kept(store, NOW + 30, step=2)
    forget(store, "here/process:2", NOW + 31, 2.0)
    store.db.execute("UPDATE places SET polls = 77")
    store.close()
    Home(str(home)).repair(NOW + 60)
    with open_store(str(home)) as mended:
        assert [row["step"] for row in readings_of(mended, REF)] == [1, 2]
        assert mended.db.execute("SELECT count(*) FROM readings").fetchone() == (2,)
        assert mended.check() == []
