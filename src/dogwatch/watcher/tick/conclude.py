"""One tick at one place as a table of contents: from what a poll brought to what is to be committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from dogwatch.model import (
    Answered,
    Change,
    Closing,
    Finding,
    Known,
    Unreachable,
    closing,
)
from dogwatch.rules.interface import Idle, PlaceCase
from dogwatch.store.rows.tick import Confirmed, Event, JobUpdate, PlaceUpdate, Tick
from dogwatch.watcher.job.events import closed_event, escalated_event, opened_event
from dogwatch.watcher.job.gpus import readings
from dogwatch.watcher.job.probe_answer import ProbeAnswer
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.tick import announcements
from dogwatch.watcher.tick.judge import Identity, Judgement, identity, judge_place
from dogwatch.watcher.tick.poll_interval import LOCKED_OUT
from dogwatch.watcher.tick.update_jobs import update_jobs
from dogwatch.wire.answer import CheckedAnswer

if TYPE_CHECKING:
    from dogwatch.wire.documents.report import GpuReading
    from dogwatch.wire.documents.watch import PlaceFacts


@dataclass(slots=True)
class TickResult:
    """What one tick concluded, for the store and for whoever asked for it; one that `waits` moved nothing
    but numbers and leaves them to the next to write."""

    tick: Tick
    changes: tuple[Change, ...] = ()
    opened: tuple[Finding, ...] = ()
    resolved: tuple[Finding, ...] = ()
    unreachable: Unreachable | None = None
    jobs: dict[str, WatchedJob] = field(default_factory=dict)
    readings: Mapping[str, GpuReading] = field(default_factory=dict)
    waits: bool = False
    gathered: Mapping[str, CheckedAnswer] = field(default_factory=dict)
    endings: Mapping[str, Known] = field(default_factory=dict)  # jobs whose final outcome it decided


def unreachable_tick(
    look: Unreachable,
    failed_polls: int,
    unreachable_since: float | None,
    jobs: int,
    open_now: Mapping[Identity, Finding],
    mono: float,
) -> TickResult:
    """Nothing was learnt of any job; that itself may be worth a word, once for the place."""
    case = PlaceCase(look.place, failed_polls, unreachable_since, look.why, jobs, look.kind in LOCKED_OUT)
    judgement = judge_place(case, open_now, look.at)
    events = []
    if failed_polls == 1:
        text = f"{look.place} did not answer: {look.why}"
        events.append(Event("place.unreachable", text, place=look.place, level="warning", body={"why": look.why}))
    locked: PlaceFacts = {"locked_out": True} if look.kind in LOCKED_OUT else {}
    update = PlaceUpdate(look.place, look.at, answered=False, why=look.why, facts=locked)
    tick = _tick(look.at, mono, update, (), events, (judgement,), {})
    return TickResult(tick, opened=judgement.opened, resolved=judgement.resolved, unreachable=look)


def answered_tick(
    probe_answer: ProbeAnswer,
    look: Answered,
    changes: tuple[Change, ...],
    after: Mapping[str, Known],
    jobs: Mapping[str, WatchedJob],
    *,
    watched: float,
    was_unreachable: bool,
    open_now: Mapping[Identity, Finding],
    mono: float,
    may_wait: bool,
    may_rest: bool = False,
    idle: Idle | None = None,
) -> TickResult:
    """One tick at a place that answered: update its jobs, judge the place, queue what is to be said."""
    updated = update_jobs(probe_answer, look, changes, after, jobs, open_now, watched=watched, mono=mono)
    case = PlaceCase(look.place, 0, None, "", len(jobs), idle=idle)
    updated.judgements.insert(0, judge_place(case, open_now, look.at))
    if was_unreachable:
        updated.events.insert(0, Event("place.answered", f"{look.place} answers again", place=look.place))
    if (may_wait or (may_rest and not updated.ticks)) and not updated.happened:
        return TickResult(Tick(look.at, mono), jobs=updated.keep(), waits=True)
    place = PlaceUpdate(look.place, look.at, answered=True, facts=to_builtins(probe_answer.facts))
    described, endings = updated.describe(), updated.endings
    tick = _tick(look.at, mono, place, described, updated.events, updated.judgements, endings)
    kept = updated.keep()
    return TickResult(
        replace(tick, readings=updated.readings(mono)),
        changes,
        tuple(_each(updated.judgements, "opened")),
        tuple(_each(updated.judgements, "resolved")),
        jobs=kept,
        readings=_gpu_readings(probe_answer, kept),
        gathered=probe_answer.gathered,
        endings=endings,
    )


def _gpu_readings(probe_answer: ProbeAnswer, jobs: Mapping[str, WatchedJob]) -> dict[str, GpuReading]:
    read: dict[str, GpuReading] = {
        ref: to_builtins(news.gpu) for ref, news in probe_answer.learnt.items() if news.gpu is not None
    }
    return read | ({} if probe_answer.gpus is None else readings(jobs.values()))


def _each(judgements: Sequence[Judgement], part: str) -> list[Any]:
    return [one for judgement in judgements for one in getattr(judgement, part)]


def _tick(
    at: float,
    mono: float,
    place: PlaceUpdate,
    jobs: Any,
    events: list[Event],
    judgements: Sequence[Judgement],
    endings: Mapping[str, Known],
) -> Tick:
    opened, worse, reworded, resolved, closed = (
        _each(judgements, part) for part in ("opened", "escalated", "reworded", "resolved", "closed")
    )
    causes = {event.ref: why for event in events if event.ref and (why := event.body.get("diagnosis"))}
    said = [opened_event(finding) for finding in opened]
    said += [escalated_event(finding, before) for finding, before in worse]
    said += [closed_event(finding, Closing.RESOLVED) for finding in resolved]
    said += [closed_event(finding, how) for finding, how in closed]
    notifications = announcements.notifications(endings.items(), opened, resolved, at, causes)
    notifications += [announcements.escalation(finding, at, causes.get(finding.subject)) for finding, _ in worse]
    notifications += [closing(finding, how, at) for finding, how in closed]
    return Tick(
        at=at,
        mono=mono,
        places=(place,),
        jobs=tuple(job for job in jobs if isinstance(job, JobUpdate)),
        confirmed=tuple(job for job in jobs if isinstance(job, Confirmed)),
        events=(*events, *said),
        opened=(*opened, *(finding for finding, _ in worse), *reworded),
        resolved=tuple(identity(finding) for finding in (*resolved, *(finding for finding, _ in closed))),
        escalated=tuple(identity(finding) for finding, _ in worse),
        notifications=(*notifications, *announcements.moments(events, at)),
    )
