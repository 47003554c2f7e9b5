"""Taking jobs and places under watch, and letting jobs go; each with its event in one transaction."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dogwatch.errors import NoSuchJob, UsageError
from dogwatch.model.finding import Closing, closing
from dogwatch.model.job import Job, Place
from dogwatch.store import cells, events, readings
from dogwatch.store.findings import close_findings
from dogwatch.store.jobs import document, row_of
from dogwatch.store.memories import remember
from dogwatch.store.places import REMOVED, rows_of
from dogwatch.store.tables import JOBS, PLACES
from dogwatch.store.tick import Event, queue

if TYPE_CHECKING:
    import sqlite3

    from dogwatch.store.database import Store

_UNSEEN: dict[str, Any] = {
    "active": 1,
    "forgotten": None,
    "state": None,
    "state_facts": None,
    "outcome": None,
    "native": "",
    "reason": "",
    "exit_code": None,
    "signal": None,
    "attempts": 0,
    "attempt": "",
    "since": None,
    "proved_at": None,
    "started": None,
    "proof": [],
    "progress": None,
    "eta": None,
    "diagnosis": None,
    "detail": {},
}


def unregistered(job: Job) -> dict[str, Any]:
    """The document of a job that is in no store, as it would be right after it was registered."""
    return document({**asdict(job), **_UNSEEN}, ())


def register(store: Store, job: Job, at: float, mono: float) -> int:
    """Take a job under watch; a ref that was forgotten or has ended starts anew with its history kept.
    Returns the number of its job.added event."""
    with store.writing() as db:
        held = row_of(db, job.ref, expected=False)
        if held is not None and held["active"]:
            raise UsageError(f"{job.ref} is watched already: `dogwatch forget {job.ref}` lets go of it.")
        _check_place(db, job.place)
        _check_identity(db, job)
        row = {**asdict(job), **_UNSEEN, "registered": job.registered or at}
        closed: list[Event] = []
        if held is None:
            key = JOBS.add(db, row)
        else:
            key = held["key"]
            JOBS.change(db, {**row, "key": key})
            closed = _close(db, job.ref, at)
            if held["submitted"] != job.submitted:  # an id that came back is another job
                readings.drop(db, key)
        remember(db, key, {})
        added = Event("job.added", f"{job.name} is watched", ref=job.ref, place=job.place)
        return events.append(store, at, mono, *closed, added)


def amend(
    store: Store,
    ref: str,
    *,
    name: str | None = None,
    description: str | None = None,
    expect: dict[str, Any],
    log_given: bool = False,
) -> None:
    """Say more of a job that is watched, or say it anew: `expect` has the expectations that change."""
    with store.writing() as db:
        held = row_of(db, ref)
        if held is None or not held["active"]:
            raise NoSuchJob(f"No job that is watched is called {ref}: `dogwatch ls` lists them.")
        track = dict(held["track"])
        if name is not None:
            track.pop("unnamed", None)
        if log_given:
            track["log_given"] = True
        fresh: dict[str, Any] = {"track": track, "expect": {**held["expect"], **expect}}
        fresh |= {} if name is None else {"name": name}
        fresh |= {} if description is None else {"description": description}
        JOBS.change(db, {**held, **fresh})


def forget(store: Store, ref: str, at: float, mono: float) -> int:
    """Let go of a job: it is no longer watched or listed, and its history stays."""
    with store.writing() as db:
        held = row_of(db, ref)
        if held is None or held["forgotten"] is not None:
            raise NoSuchJob(f"No job is called {ref}: `dogwatch ls --all` lists them.")
        JOBS.change(db, {**held, "active": 0, "forgotten": at})
        remember(db, held["key"], None)
        readings.drop(db, held["key"])
        closed = _close(db, ref, at)
        sql = "SELECT 1 FROM jobs WHERE active = 1 AND place = ?"
        if db.execute(sql, (cells.pack(held["place"]),)).fetchone() is None:
            closed += _close(db, f"place:{held['place']}", at)  # nobody looks there any more
        event = Event("job.forgotten", f"{held['name']} is no longer watched", ref=ref, place=held["place"])
        return events.append(store, at, mono, *closed, event)


def _close(db: sqlite3.Connection, subject: str, at: float) -> list[Event]:
    """Close what stands open about a job or place that is not watched any more, and tell whoever was told of it."""
    found = close_findings(db, subject, at)
    how, place = Closing.NOT_WATCHED, subject.partition("place:")[2]
    said = []
    for finding in found:
        notice = closing(finding, how, at)
        queue(db, notice, at)
        body = {"rule": finding.rule, "what": finding.what, "how": how.word}
        ref = None if place else subject
        said.append(Event("finding.closed", notice.text, ref=ref, place=place or None, body=body))
    return said


def add_place(store: Store, place: Place) -> None:
    """Add a place, or change how a known one is reached."""
    fresh = asdict(place)
    with store.writing() as db:
        for row in rows_of(db):
            if row["name"] == place.name:
                PLACES.change(db, {**row, **fresh})
                return
        PLACES.add(db, {**fresh, "looks": 0, "dark_looks": 0, "facts": {}})


def _check_place(db: sqlite3.Connection, name: str) -> None:
    """A job on a place that nobody looks at would stay as it is for ever."""
    kinds = [place["kind"] for place in rows_of(db) if place["name"] == name]
    if not kinds:
        raise UsageError(f"There is no place called {name!r}: add it first.")
    if REMOVED in kinds:
        raise UsageError(f"The host {name} was removed: `dogwatch host add {name}` takes it back, and then its jobs.")


def _check_identity(db: sqlite3.Connection, job: Job) -> None:
    """One job is not to be watched under two refs."""
    if job.submitted is None:
        return
    same = (job.place, job.source, job.id)
    row = db.execute(
        "SELECT ref FROM jobs WHERE place = ? AND source = ? AND id = ? AND submitted = ? AND ref <> ?",
        (*map(cells.pack, same), cells.real(job.submitted), cells.pack(job.ref)),
    ).fetchone()
    if row is not None:
        raise UsageError(f"{job.ref} is the same job as {cells.unpack(row[0])}, which is here already.")
