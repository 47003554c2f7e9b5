"""Unwatched: one look at Slurm jobs that nobody watches, as the documents they would have; nothing is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.clock import Clock, stamp
from dogwatch.model import Dark, Ended, Job, Running, Sighting
from dogwatch.model.state import word
from dogwatch.reach.interface import Reach
from dogwatch.sources.slurm import source
from dogwatch.store.register import unregistered

DEADLINE = 90.0

Document = dict[str, Any]


def slurm_job(place: str, job_id: str, name: str | None = None, user: str | None = None) -> Job:
    """A Slurm job by where it is and its id."""
    track = {"user": user, "submit": None, "cluster": None, "log_given": False}
    return Job(f"{place}/slurm:{job_id}", place, "slurm", job_id, name or job_id, track=track)


def look(reach: Reach, jobs: Sequence[Job], clock: Clock) -> tuple[list[Document], str | None]:
    """What one round trip says of these jobs of one place, in order, and why it says nothing, if so."""
    at = clock.now()
    answer = reach.ask({source.section: source.ask(jobs, {}, at)}, DEADLINE)
    if isinstance(answer, Dark):
        return [unregistered(job) for job in jobs], answer.why
    section: Mapping[str, Any] = answer.body.get(source.section) or {"why": "no reason given"}
    why = source.trouble(section, jobs) if section.get("ok") else str(section.get("why"))
    if why is not None:
        return [unregistered(job) for job in jobs], why
    _, sightings = source.read(section, jobs, {}, at)
    return [_document(job, sightings.get(job.ref), at) for job in jobs], None


def _document(job: Job, seen: Sighting | None, at: float) -> Document:
    blank = unregistered(job)
    if seen is None:
        return blank | {"reason": "the cluster does not know it"}
    state, facts = seen.state, seen.facts
    ended = state if isinstance(state, Ended) else None
    started = state.since if isinstance(state, Running) else None
    return blank | {
        "state": word(state),
        "outcome": None if ended is None else ended.outcome.value,
        "native": seen.native or None,
        "reason": seen.reason or getattr(state, "reason", "") or None,
        "exit_code": None if ended is None else ended.exit_code,
        "signal": None if ended is None else ended.signal,
        "since": stamp(ended.at if ended is not None else started),
        "started": stamp(started),
        "submitted": stamp((seen.track or {}).get("submit")),
        "proved_at": stamp(at),
        "proof": [{"by": one.by, "says": one.says, "at": stamp(one.at)} for one in seen.proof],
        "tasks": facts.get("tasks"),
        "efficiency": facts.get("efficiency"),
        "expected_start": stamp(facts.get("expected_start")),
        "time_limit_at": stamp(facts.get("time_limit_at")),
        "time_limit_seconds": facts.get("limit_seconds"),
        "nodes": facts.get("nodes") or None,
        "stdout": facts.get("stdout") or None,
    }
