"""Writing what a tick concluded, all of it or none of it, and loading what the next one goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dogwatch.model.follow import Known
from dogwatch.model.job import Job
from dogwatch.store.rows import cancellations, events, memories, readings
from dogwatch.store.rows.changes import Confirmed, Event, JobUpdate, PlaceUpdate, Reading, Tick
from dogwatch.store.rows.findings import end_acknowledgements, open_finding, resolve_finding
from dogwatch.store.rows.job_columns import change_known, evidence, job_of, known_of
from dogwatch.store.rows.jobs import JobRow, folded
from dogwatch.store.rows.notifications import queue
from dogwatch.store.rows.places import write_poll
from dogwatch.store.rows.watch import ticked

if TYPE_CHECKING:
    from dogwatch.store.interface import Store, Transaction
    from dogwatch.store.rows.row import Json
    from dogwatch.wire.documents.cancel import CancelledBy
    from dogwatch.wire.documents.job import ProgressDocument

__all__ = ["Confirmed", "Event", "JobUpdate", "PlaceUpdate", "Reading", "Tick", "Tracked", "commit", "load"]


@dataclass(frozen=True, slots=True)
class Tracked:
    """An active job as the watcher needs it to go on where the last tick stopped."""

    job: Job
    known: Known
    memory: Json
    progress: ProgressDocument | None
    started: float | None


def commit(store: Store, tick: Tick) -> int:
    """Write the tick in one transaction; returns the number of the newest event."""
    with store.writing() as tx:
        for place in tick.places:
            write_poll(tx, place)
        forgotten = {update.ref for update in tick.jobs if not _write_job(tx, update)}
        forgotten |= _write_confirmed(tx, tick.confirmed)
        for identity in tick.resolved:
            resolve_finding(tx, identity, tick.at)
        for identity in tick.escalated:
            end_acknowledgements(tx, identity, tick.at)
        for finding in tick.opened:
            if finding.subject not in forgotten:
                open_finding(tx, finding, tick.at)
        for notification in tick.notifications:
            if notification.subject not in forgotten:
                queue(tx, notification, tick.at)
        readings.keep_all(tx, tick.at, tick.readings)
        ticked(tx, tick.at, tick.mono)
        return events.append(tx, tick.at, tick.mono, *(event for event in tick.events if event.ref not in forgotten))


def load(store: Store, place: str) -> list[Tracked]:
    """The active jobs of a place, as they were last committed, oldest first."""
    with store.reading() as tx:
        rows = [row for row in tx.every(JobRow, "active") if row.place == place]
        cancelled = cancellations.of_active(tx)
        return [
            Tracked(
                _with_cancel(job_of(row), cancelled.get(row.ref)),
                known_of(row),
                memories.memory_of(tx, row),
                row.progress,
                row.started,
            )
            for row in rows
        ]


def _with_cancel(job: Job, cancelled: CancelledBy | None) -> Job:
    """A job whose track says who wanted it to be ended, for its source."""
    return job if cancelled is None else replace(job, track={**job.track, "cancel": cancelled})


def _write_job(tx: Transaction, update: JobUpdate) -> bool:
    """False, and nothing written: a job that was forgotten while the tick was under way stays forgotten,
    and its history ends with that."""
    row = tx.find(JobRow, update.ref)
    if row is None or row.forgotten is not None:
        return False
    workers = folded([] if update.detail is None else update.detail.get("workers", []))
    still_active = change_known(
        tx,
        row,
        update.known,
        started=update.started,
        progress=update.progress,
        eta=update.eta,
        diagnosis=update.diagnosis,
        detail={**(update.detail or {}), "workers": workers},
        **({} if update.track is None else {"track": update.track}),
        **({} if update.name is None else {"name": update.name}),
    )
    if not still_active:
        memories.forget(tx, row.key)
    elif update.memory is not None:
        memories.remember(tx, {row.key: update.memory})
    return True


def _write_confirmed(tx: Transaction, confirmed: Sequence[Confirmed]) -> set[str]:
    """Newer evidence for jobs that are what they were, ten thousand at once; the refs of those that were forgotten
    meanwhile."""
    same: dict[tuple[int, float], tuple[float, object]] = {}  # jobs of which the same is said share the very object
    values = {}
    for one in confirmed:
        said = same.get((id(one.evidence), one.at))
        if said is None:
            said = same[id(one.evidence), one.at] = one.at, evidence(one.evidence)
        values[one.ref] = said
    keys = tx.change_last(JobRow, values, unless="forgotten")
    memories.remember(
        tx, {keys[one.ref]: one.memory for one in confirmed if one.memory is not None and one.ref in keys}
    )
    return {one.ref for one in confirmed if one.ref not in keys}
