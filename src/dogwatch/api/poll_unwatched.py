"""Unwatched: one poll of jobs that nobody watches, as the documents they would have; nothing is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.clock import Clock, recorded, stamp
from dogwatch.model import Ended, Facts, Job, Observation, Running, Unreachable
from dogwatch.model.state import word
from dogwatch.sources.interface import Source
from dogwatch.store.rows.registration import unregistered
from dogwatch.transport.interface import Transport
from dogwatch.wire.commands import NO_COMMANDS
from dogwatch.wire.documents.facts import efficiency_document, tasks_document

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument

DEADLINE = 90.0


def poll(
    source: Source, transport: Transport, jobs: Sequence[Job], clock: Clock
) -> tuple[list[JobDocument], str | None]:
    """What one round trip says of these jobs of one place, in order, and why it says nothing, if so."""
    at = clock.now()
    answer = transport.ask(source.ask(jobs, {}, at).to_request(), DEADLINE)
    if isinstance(answer, Unreachable):
        return [unregistered(job) for job in jobs], answer.why
    section = answer.checked.commands or NO_COMMANDS
    why = source.trouble(section, jobs) if section.ok else section.why
    if why is not None:
        return [unregistered(job) for job in jobs], why
    _, observations = source.read(section, jobs, {}, at)
    return [_document(job, observations.get(job.ref), at) for job in jobs], None


def _document(job: Job, seen: Observation | None, at: float) -> JobDocument:
    blank = unregistered(job)
    if seen is None:
        return {**blank, "reason": "the cluster does not know it"}
    state, facts = seen.state, seen.facts or Facts()
    ended = state if isinstance(state, Ended) else None
    started = state.since if isinstance(state, Running) else None
    return {
        **blank,
        "state": word(state),
        "outcome": None if ended is None else ended.outcome.value,
        "native": seen.native or None,
        "reason": seen.reason or getattr(state, "reason", "") or None,
        "exit_code": None if ended is None else ended.exit_code,
        "signal": None if ended is None else ended.signal,
        "since": stamp(ended.at if ended is not None else started),
        "started": stamp(started),
        "submitted": stamp((seen.track or {}).get("submit")),
        "confirmed_at": stamp(at),
        "evidence": [{"by": one.by, "says": one.says, "at": recorded(one.at)} for one in seen.evidence],
        "tasks": tasks_document(facts.tasks),
        "efficiency": efficiency_document(facts.efficiency),
        "expected_start": stamp(facts.expected_start),
        "time_limit_at": stamp(facts.time_limit_at),
        "time_limit_seconds": facts.limit_seconds,
        "nodes": facts.nodes or None,
        "stdout": facts.stdout or None,
    }
