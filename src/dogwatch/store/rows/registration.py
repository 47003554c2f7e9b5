"""Taking jobs under watch, and letting them go; each with its event in one transaction."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dogwatch.errors import NoSuchJob, UsageError
from dogwatch.model.finding import Closing, closing
from dogwatch.model.job import Expectation
from dogwatch.store.rows import events, memories, places, readings
from dogwatch.store.rows.changes import Event
from dogwatch.store.rows.findings import close_findings
from dogwatch.store.rows.jobs import JobRow, document
from dogwatch.store.rows.notifications import queue
from dogwatch.store.rows.places import REMOVED, add_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dogwatch.model.job import Job
    from dogwatch.store.interface import Store, Transaction
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.watch import EventBody

__all__ = ["add_place", "amend", "forget", "register", "retrack", "unregistered"]


def unregistered(job: Job) -> JobDocument:
    """The document of a job that is in no store, as it would be right after it was registered."""
    return document(_unseen(job, job.registered), ())


def _unseen(job: Job, at: float) -> JobRow:
    return JobRow(**{**asdict(job), "registered": job.registered or at}, detail={}, evidence=[])


def register(store: Store, job: Job, at: float, mono: float, real: Mapping[str, str] = {}) -> int:
    """Take a job under watch; a ref that was forgotten or has ended starts anew with its history kept. `real` is where
    the folders of its files are now. Returns the number of its job.added event."""
    with store.writing() as tx:
        held = tx.row(JobRow, "WHERE ref = ?", job.ref)
        if held is not None and held.active:
            raise UsageError(f"{job.ref} is watched already: `dogwatch forget {job.ref}` stops watching it.")
        _check_place(tx, job.place)
        _check_identity(tx, job)
        row = _unseen(job, at)
        closed: list[Event] = []
        if held is None:
            key = tx.add(row)
        else:
            key = held.key
            tx.change(held, **{name: getattr(row, name) for name in row.NAMES if name != "key"})
            closed = _close(tx, job.ref, at)
            if held.submitted != job.submitted:  # an id that came back is another job
                readings.drop(tx, key)
        memories.remember(tx, {key: {"learnt": {"real": dict(real)}} if real else {}})
        added = Event("job.added", f"{job.name} is watched", ref=job.ref, place=job.place)
        return events.append(tx, at, mono, *closed, added)


def amend(
    store: Store,
    ref: str,
    *,
    name: str | None = None,
    description: str | None = None,
    expect: Expectation,
    log_given: bool = False,
) -> None:
    """Say more of a job that is watched, or say it anew: what `expect` leaves open stays as it was."""
    with store.writing() as tx:
        held = tx.find(JobRow, ref)
        if held is None or not held.active:
            raise NoSuchJob(f"No watched job named {ref}: `dogwatch ls` lists them.")
        track = dict(held.track)
        if name is not None:
            track.pop("unnamed", None)
        if log_given:
            track["log_given"] = True
        blank = asdict(Expectation())
        given = {key: value for key, value in asdict(expect).items() if value != blank[key]}
        fresh = {"name": held.name if name is None else name}
        fresh["description"] = held.description if description is None else description
        tx.change(held, track=track, expect={**held.expect, **given}, **fresh)


def retrack(store: Store, ref: str, **fresh: object) -> None:
    """Note more of where a watched job is found; None takes a note back."""
    with store.writing() as tx:
        held = tx.find(JobRow, ref)
        if held is None or not held.active:
            raise NoSuchJob(f"No watched job named {ref}: `dogwatch ls` lists them.")
        track = {**held.track, **fresh}
        tx.change(held, track={name: value for name, value in track.items() if value is not None})


def forget(store: Store, ref: str, at: float, mono: float) -> int:
    """Let go of a job: it is no longer watched or listed, and its history stays."""
    with store.writing() as tx:
        held = tx.find(JobRow, ref)
        if held is None or held.forgotten is not None:
            raise NoSuchJob(f"No job named {ref}: `dogwatch ls --all` lists them.")
        tx.change(held, active=0, forgotten=at)
        memories.forget(tx, held.key)
        readings.drop(tx, held.key)
        closed = _close(tx, ref, at)
        if not tx.query("SELECT 1 FROM jobs WHERE active = 1 AND place = ? LIMIT 1", held.place):
            closed += _close(tx, f"place:{held.place}", at)  # nobody polls it any more
        event = Event("job.forgotten", f"{held.name} is no longer watched", ref=ref, place=held.place)
        return events.append(tx, at, mono, *closed, event)


def _close(tx: Transaction, subject: str, at: float) -> list[Event]:
    """Close what stands open about a job or place that is not watched any more, and tell whoever was told of it."""
    how, place = Closing.NOT_WATCHED, subject.partition("place:")[2]
    closed = []
    for finding in close_findings(tx, subject, at):
        notification = closing(finding, how, at)
        queue(tx, notification, at)
        body: EventBody = {"rule": finding.rule, "what": finding.what, "how": how.word}
        ref = None if place else subject
        closed.append(Event("finding.closed", notification.text, ref=ref, place=place or None, body=body))
    return closed


def _check_place(tx: Transaction, name: str) -> None:
    """A job on a place that nobody polls would stay as it is for ever."""
    row = places.named(tx, name)
    if row is None:
        raise UsageError(f"There is no place named {name!r}: add it first.")
    if row.kind == REMOVED:
        raise UsageError(f"The host {name} was removed: `dogwatch host add {name}` adds it and its jobs again.")


def _check_identity(tx: Transaction, job: Job) -> None:
    """One job is not to be watched under two refs."""
    if job.submitted is None:
        return
    sql = "SELECT ref FROM jobs WHERE place = ? AND source = ? AND id = ? AND submitted = ? AND ref <> ?"
    for (ref,) in tx.query(sql, job.place, job.source, job.id, job.submitted, job.ref):
        raise UsageError(f"{job.ref} is the same job as {ref}, which is here already.")
