"""Round: one tick at one place, from the look to what is to be committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dogwatch.engine import queue
from dogwatch.engine.gpus import readings
from dogwatch.engine.judge import (
    NOTHING,
    Identity,
    Judgement,
    by_subject,
    identity,
    judge_blind,
    judge_job,
    judge_place,
)
from dogwatch.engine.look import Glance
from dogwatch.engine.pace import LOCKED_OUT
from dogwatch.engine.room import Rooms
from dogwatch.engine.said import closed_event, escalated_event, opened_event
from dogwatch.engine.spent import due_readings, is_due
from dogwatch.engine.visit import Visit, Watched
from dogwatch.model import (
    Change,
    Closing,
    Dark,
    Finding,
    Known,
    Seen,
    closing,
)
from dogwatch.rules.interface import BlindCase, PlaceCase
from dogwatch.store.tick import Event, JobUpdate, PlaceUpdate, Proved, Tick


@dataclass(slots=True)
class Round:
    """What one tick concluded, for the store and for whoever asked for it; one that `waits` moved nothing
    but numbers and leaves them to the next to write."""

    tick: Tick
    changes: tuple[Change, ...] = ()
    opened: tuple[Finding, ...] = ()
    resolved: tuple[Finding, ...] = ()
    dark: Dark | None = None
    jobs: dict[str, Watched] = field(default_factory=dict)
    readings: Mapping[str, Any] = field(default_factory=dict)
    waits: bool = False
    gathered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    endings: Mapping[str, Known] = field(default_factory=dict)  # jobs whose final outcome it decided


def dark_round(
    look: Dark,
    dark_looks: int,
    dark_since: float | None,
    jobs: int,
    open_now: Mapping[Identity, Finding],
    mono: float,
) -> Round:
    """Nothing was learnt of any job; that itself may be worth a word, once for the place."""
    case = PlaceCase(look.place, dark_looks, dark_since, look.why, jobs, look.kind in LOCKED_OUT)
    judgement = judge_place(case, open_now, look.at)
    events = []
    if dark_looks == 1:
        text = f"{look.place} did not answer: {look.why}"
        events.append(Event("place.dark", text, place=look.place, level="warning", body={"why": look.why}))
    locked = {"locked_out": True} if look.kind in LOCKED_OUT else {}
    update = PlaceUpdate(look.place, look.at, seen=False, why=look.why, facts=locked)
    tick = _tick(look.at, mono, update, (), events, (judgement,), {})
    return Round(tick, opened=judgement.opened, resolved=judgement.resolved, dark=look)


def seen_round(
    glance: Glance,
    look: Seen,
    changes: tuple[Change, ...],
    after: Mapping[str, Known],
    jobs: Mapping[str, Watched],
    *,
    watched: float,
    was_dark: bool,
    open_now: Mapping[Identity, Finding],
    mono: float,
    may_wait: bool,
    may_rest: bool = False,
) -> Round:
    """Every job that the look could speak for: its files read, its progress estimated, its rules judged."""
    events, judgements, visits = [], [], []
    place_case = PlaceCase(look.place, 0, None, "", len(jobs))
    judgements.append(judge_place(place_case, open_now, look.at))
    if was_dark:
        events.append(Event("place.seen", f"{look.place} answers again", place=look.place))
    changed = {change.ref: change for change in changes}
    held, rooms = by_subject(open_now), Rooms(glance.disks)
    updates: list[JobUpdate | Proved] = []
    after_jobs: dict[str, Watched] = {}
    saves = False
    for ref, one in jobs.items():
        if ref in glance.blind:
            case = BlindCase(one.job, one.known, glance.blind[ref])
            judgements.append(judge_blind(case, held.get(ref, {}), look.at))
        if ref not in look.asked:
            continue
        change = changed.get(ref)
        visit = Visit(one, after[ref], look.sightings.get(ref), change, glance, rooms, look.at, mono, watched)
        visit.read()
        judgement = judge_job(visit.case(), held.get(ref, {}), look.at, new_attempt=visit.anew)
        said = visit.events()
        visit.save |= bool(said) or _tells(judgement)
        saves = saves or visit.save
        if visit.steady:  # nearly all of ten thousand: they are let go one by one
            updates.append(visit.update())
            after_jobs[ref] = visit.watched()
        else:
            visits.append(visit)
        if judgement is not NOTHING:
            judgements.append(judgement)
        events += said
    happened = events or any(_tells(one) or one.reworded for one in judgements)
    if (may_wait or (may_rest and not visits)) and not happened and not saves:
        after_jobs |= {visit.job.ref: visit.watched() for visit in visits}
        return Round(Tick(look.at, mono), jobs=after_jobs, waits=True)
    update = PlaceUpdate(look.place, look.at, seen=True, facts=dict(glance.facts))
    updates += [visit.update() for visit in visits]
    endings = {visit.job.ref: visit.after for visit in visits if visit.concluded}
    tick = _tick(look.at, mono, update, updates, events, judgements, endings)
    after_jobs |= {visit.job.ref: visit.watched() for visit in visits}
    found = [(one, visit.measured()) for visit in visits if is_due(one := after_jobs[visit.job.ref], mono)]
    tick = replace(tick, readings=due_readings(found, mono))
    opened, resolved = tuple(_each(judgements, "opened")), tuple(_each(judgements, "resolved"))
    more: dict[str, Any] = {"gathered": glance.gathered, "endings": endings}
    return Round(tick, changes, opened, resolved, jobs=after_jobs, readings=_gpu_readings(glance, after_jobs), **more)


def _gpu_readings(glance: Glance, jobs: Mapping[str, Watched]) -> dict[str, Any]:
    read = {ref: facts["gpu"] for ref, facts in glance.learnt.items() if "gpu" in facts}
    return read | ({} if glance.gpus is None else readings(jobs.values()))


def _each(judgements: Sequence[Judgement], part: str) -> list[Any]:
    return [one for judgement in judgements for one in getattr(judgement, part)]


def _tells(judgement: Judgement) -> bool:
    """Whether it has something for the history."""
    return bool(judgement.opened or judgement.escalated or judgement.resolved or judgement.closed)


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
    causes = {event.ref: event.body["diagnosis"] for event in events if event.ref and event.body.get("diagnosis")}
    said = [opened_event(finding) for finding in opened]
    said += [escalated_event(finding, before) for finding, before in worse]
    said += [closed_event(finding, Closing.RESOLVED) for finding in resolved]
    said += [closed_event(finding, how) for finding, how in closed]
    notices = queue.notices(endings.items(), opened, resolved, at, causes)
    notices += [queue.escalation(finding, at, causes.get(finding.subject)) for finding, _ in worse]
    notices += [closing(finding, how, at) for finding, how in closed]
    return Tick(
        at=at,
        mono=mono,
        places=(place,),
        jobs=tuple(job for job in jobs if isinstance(job, JobUpdate)),
        proved=tuple(job for job in jobs if isinstance(job, Proved)),
        events=(*events, *said),
        opened=(*opened, *(finding for finding, _ in worse), *reworded),
        resolved=tuple(identity(finding) for finding in (*resolved, *(finding for finding, _ in closed))),
        escalated=tuple(identity(finding) for finding, _ in worse),
        notices=(*notices, *queue.moments(events, at)),
    )
