"""Newer evidence moves two cells of a row and its seal, and a row that is not what was sealed is never sealed anew."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dogwatch.errors import StoreDamaged
from dogwatch.model import Evidence
from dogwatch.store.rows import jobs, tick
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from tests.store.sample import NOW, job, running

COUNT = 40


def watched(home: Path) -> Store:
    store = open_store(str(home))
    for number in range(COUNT):
        register(store, job(number), NOW, 1.0)
    updates = tuple(tick.JobUpdate(job(number).ref, running(), memory={"n": 0}) for number in range(COUNT))
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=updates))
    return store


def confirm(store: Store, at: float, events: tuple[tick.Event, ...] = ()) -> None:
    confirmed = tuple(tick.Confirmed(job(n).ref, at, (Evidence("probe", "running", at),)) for n in range(COUNT))
    tick.commit(store, tick.Tick(at, at, confirmed=confirmed, events=events))


def times(store: Store) -> set[object]:
    return {(row["confirmed_at"], row["state"]) for row in jobs.brief(store)}


def test_every_row_is_intact_after_each_of_many_confirmations(home: Path) -> None:
    """By the reader's own seals and tallies, whether the row was read for it or known from the time before."""
    store = watched(home)
    for turn in range(1, 4):
        confirm(store, NOW + turn)
        assert times(store) == {(NOW + turn, "running")}
        assert {one["evidence"][0]["says"] for one in jobs.documents(store)} == {"running"}


def test_a_job_forgotten_in_between_stays_forgotten(home: Path) -> None:
    """By this process or another: its row is not written, and what is said of it is dropped."""
    store = watched(home)
    confirm(store, NOW + 1)
    forget(store, job(0).ref, NOW, 1.0)
    with open_store(str(home)) as other:
        forget(other, job(1).ref, NOW, 1.0)
    said = tuple(tick.Event("job.state", "late", ref=job(n).ref) for n in (0, 1, 2))
    confirm(store, NOW + 2, events=said)
    assert times(store) == {(NOW + 2, "running")}
    assert len(jobs.brief(store)) == COUNT - 2
    assert len(jobs.brief(store, everything=True)) == COUNT - 2


def test_a_row_rewritten_as_a_whole_is_confirmed_by_its_new_cells(home: Path) -> None:
    """A confirmation after another update keeps what that update wrote."""
    store = watched(home)
    confirm(store, NOW + 1)
    progress: Any = {"step": 7}
    tick.commit(store, tick.Tick(NOW, 2.0, jobs=(tick.JobUpdate(job(3).ref, running(), progress=progress),)))
    confirm(store, NOW + 2)
    confirm(store, NOW + 3)
    assert times(store) == {(NOW + 3, "running")}
    document: Any = jobs.documents(store, refs=[job(3).ref])[0]
    assert document["progress"]["step"] == 7


@pytest.mark.parametrize("known_before", [False, True])
def test_a_damaged_row_is_not_sealed_anew(home: Path, known_before: bool) -> None:
    """A cell changed behind the store's back is found by the confirmation itself or by the next reader."""
    store = watched(home)
    if known_before:
        confirm(store, NOW + 1)
    raw = sqlite3.connect(store.path, isolation_level=None)
    raw.execute("UPDATE jobs SET name = 'forged' WHERE ref = ?", (job(5).ref,))
    raw.close()
    with pytest.raises(StoreDamaged):
        _confirm_and_read(store)


def _confirm_and_read(store: Store) -> None:
    confirm(store, NOW + 2)
    jobs.brief(store)
