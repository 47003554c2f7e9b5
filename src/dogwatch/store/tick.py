"""One tick's outcome as a value, and `commit()`, which writes all of it or none of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dogwatch.errors import StoreError
from dogwatch.model.finding import Closing, Finding, Notice
from dogwatch.model.follow import Known
from dogwatch.model.job import Job
from dogwatch.redaction import redacted
from dogwatch.store import cells, events, readings, reproof
from dogwatch.store.findings import (
    OpenFinding,
    end_acknowledgements,
    open_finding,
    open_findings,
    resolve_finding,
)
from dogwatch.store.jobs import cells_of
from dogwatch.store.memories import memory_of, remember
from dogwatch.store.places import all_cells
from dogwatch.store.readings import Reading
from dogwatch.store.reproof import Proved
from dogwatch.store.shapes import columns_of, job_of, known_of
from dogwatch.store.tables import JOBS, NOTES, NOTICES, PLACES, add_up
from dogwatch.store.watch import ticked

if TYPE_CHECKING:
    import sqlite3

    from dogwatch.store.database import Store


__all__ = [
    "Event",
    "JobUpdate",
    "OpenFinding",
    "PlaceUpdate",
    "Proved",
    "Reading",
    "Tick",
    "Tracked",
    "commit",
    "load",
    "open_findings",
    "queue",
    "queue_notices",
]


ON_CHANNELS_ONLY = frozenset({"started", "milestone", "checkpoint", "progress", "digest", "test"})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, to be appended to the history; the store gives it its number and time."""

    kind: str
    text: str
    ref: str | None = None
    place: str | None = None
    level: str = "info"
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """What is known of a job after a tick, whole: `progress`, `eta`, `diagnosis` and `detail` replace what was there.
    `memory` and `track` do so too unless they are None, which keeps the old ones."""

    ref: str
    known: Known
    started: float | None = None
    progress: Mapping[str, Any] | None = None
    eta: Mapping[str, Any] | None = None
    diagnosis: Mapping[str, Any] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] | None = None
    track: Mapping[str, Any] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PlaceUpdate:
    """That a place was looked at, and whether it was seen; `why` says why it stayed dark, and `facts` of such a place
    only `locked_out`: that it refuses us, so that asking it often would do harm."""

    name: str
    looked_at: float
    seen: bool
    why: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tick:
    """Everything one tick concluded. `resolved` holds (subject, rule, what) of findings that ceased, however, and
    `escalated` of those that matter more than before."""

    at: float
    mono: float
    places: tuple[PlaceUpdate, ...] = ()
    jobs: tuple[JobUpdate, ...] = ()
    proved: tuple[Proved, ...] = ()
    events: tuple[Event, ...] = ()
    opened: tuple[Finding, ...] = ()
    resolved: tuple[tuple[str, str, str], ...] = ()
    escalated: tuple[tuple[str, str, str], ...] = ()
    notices: tuple[Notice, ...] = ()
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Tracked:
    """An active job as the watcher needs it to go on where the last tick stopped."""

    job: Job
    known: Known
    memory: dict[str, Any]
    progress: dict[str, Any] | None
    started: float | None


def commit(store: Store, tick: Tick) -> int:
    """Write the tick in one transaction; returns the number of the newest event."""
    with store.writing() as db:
        reproof.begin(store, db)
        for place in tick.places:
            _write_place(db, place)
        forgotten = {update.ref for update in tick.jobs if not _write_job(db, update)}
        forgotten |= reproof.write(store, db, tick.proved)
        for subject, rule, what in tick.resolved:
            resolve_finding(db, (subject, rule, what), tick.at)
        for identity in tick.escalated:
            end_acknowledgements(db, identity, tick.at)
        for finding in tick.opened:
            if finding.subject not in forgotten:
                open_finding(db, finding, tick.at)
        for notice in tick.notices:
            if notice.subject not in forgotten:
                queue(db, notice, tick.at)
        readings.keep_all(db, tick.at, tick.readings)
        ticked(db, tick.at, tick.mono)
        said = [event for event in tick.events if event.ref not in forgotten]
        newest = events.append(store, tick.at, tick.mono, *said)
        reproof.end(store, db, [update.ref for update in tick.jobs])
        return newest


def load(store: Store, place: str) -> list[Tracked]:
    """The active jobs of a place, as they were last committed, oldest first."""
    with store.reading() as db:
        rows = db.execute(JOBS.select + "WHERE active = 1 ORDER BY key").fetchall()
        add_up(db, "jobs.open", rows)
        jobs = [row for row in map(JOBS.unpack, rows) if row["place"] == place]
        return [_tracked(row, memory_of(db, row)) for row in jobs]


def _write_place(db: sqlite3.Connection, update: PlaceUpdate) -> None:
    name = cells.pack(update.name)
    row = next((row for row in all_cells(db) if row[PLACES.label] == name), None)
    if row is None:
        raise StoreError(f"There is no place called {update.name!r} in the store.")
    fresh: dict[str, Any] = {"looked_at": update.looked_at, "looks": PLACES.cell(row, "looks") + 1}
    if update.seen:
        fresh.update(seen_at=update.looked_at, dark_since=None, dark_why=None, facts=update.facts)
    else:
        since = PLACES.cell(row, "dark_since")
        fresh.update(dark_since=update.looked_at if since is None else since, dark_why=update.why)
        fresh["dark_looks"] = PLACES.cell(row, "dark_looks") + 1
        known = cells.parse(PLACES.cell(row, "facts"))
        fresh["facts"] = {key: value for key, value in known.items() if key != "locked_out"} | dict(update.facts)
    PLACES.amend(db, PLACES.proved(row), fresh)


def _write_job(db: sqlite3.Connection, update: JobUpdate) -> bool:
    """False, and nothing written: a job that was forgotten while the tick was under way stays forgotten,
    and its history ends with that."""
    row = cells_of(db, update.ref)
    if row is None or JOBS.cell(row, "forgotten") is not None:
        return False
    fresh = columns_of(update.known)
    fresh.update(started=update.started, progress=update.progress, eta=update.eta, diagnosis=update.diagnosis)
    fresh["detail"] = {**update.detail, "workers": cells.folded(update.detail.get("workers", []))}
    if update.track is not None:
        fresh["track"] = update.track
    if update.name is not None:
        fresh["name"] = update.name
    JOBS.amend(db, row, fresh)
    if not fresh["active"]:
        remember(db, row[0], None)
    elif update.memory is not None:
        remember(db, row[0], update.memory)
    return True


def queue(db: sqlite3.Connection, notice: Notice, at: float) -> None:
    """A notice and what it is about, once, however often it is concluded; secrets that a job printed stay out."""
    if db.execute("SELECT 1 FROM notices WHERE key = ?", (cells.pack(notice.key),)).fetchone() is None:
        said = {**asdict(notice), **{name: redacted(getattr(notice, name)) for name in ("text", "why", "remedy")}}
        # A terminal has shown it as an event, or shows the end of the job.
        done = at if notice.rule in ON_CHANNELS_ONLY or notice.resolved > Closing.RESOLVED else None
        id = NOTICES.add(db, {**said, "level": notice.level.value, "created": at, "done": done})
        row = {**said, "notice": id, "resolved": int(notice.resolved), "since": notice.since or at}
        db.execute(NOTES.insert, NOTES.pack(row))


def queue_notices(store: Store, said: Iterable[Notice], at: float) -> None:
    """Something to be said that no tick concluded: of the alerts themselves."""
    with store.writing() as db:
        for notice in said:
            queue(db, notice, at)


def _tracked(row: dict[str, Any], memory: dict[str, Any]) -> Tracked:
    return Tracked(job_of(row), known_of(row), memory, row["progress"], row["started"])
