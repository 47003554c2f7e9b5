"""What a tick says of a job: its update for the store, its events, its numbers, and what is kept of it."""

from __future__ import annotations

from dogwatch.model import Ended, Running
from dogwatch.store.rows.tick import Confirmed, Event, JobUpdate
from dogwatch.watcher.job import document
from dogwatch.watcher.job import no_eta as no_estimate
from dogwatch.watcher.job.events import checkpoint_event, moved, stage_events
from dogwatch.watcher.job.job_tick import JobTick
from dogwatch.watcher.job.resources import measured, sampled
from dogwatch.watcher.job.stall import stood
from dogwatch.watcher.job.state.progress import new_milestone
from dogwatch.watcher.job.unread_logs import gap_event
from dogwatch.watcher.job.watched import WatchedJob


def describe(tick: JobTick) -> JobUpdate | Confirmed:
    """The job as the store is told of it; only that it is confirmed where nothing else is new."""
    if tick.steady:
        memory = tick.memory.to_json() if tick.save else None
        return Confirmed(tick.job.ref, tick.at, tick.after.evidence, memory)
    tick.watched.remaining = tick.eta.remaining if tick.eta is not None else None
    if tick.rests and not tick.save:
        return Confirmed(tick.job.ref, tick.at, tick.after.evidence)
    tick.described = tick.mono
    no_eta = _no_eta(tick)
    workers = [document.worker_document(worker, tick.memory, tick.at, tick.mono) for worker in tick.workers]
    if tick.save:
        tick.watched.readers.keep(tick.memory)
    return JobUpdate(
        ref=tick.job.ref,
        known=tick.after,
        started=tick.started,
        progress=document.progress_document(tick.progress),
        eta=document.eta_document(None if no_eta else tick.eta, tick.at),
        diagnosis=tick.diagnosis,
        detail=document.detail_document(
            tick.memory,
            workers,
            tick.disks,
            tick.final,
            tick.watched.verdict,
            tick.at,
            tick.watched.gone_in,
            tick.probe_answer.skew,
            no_eta,
            tick.after,
        ),
        memory=tick.memory.to_json() if tick.save else None,
        track=None if tick.observation is None else tick.observation.track,
        name=tick.job.name if tick.job.name != tick.watched.job.name else None,
    )


def events_of(tick: JobTick) -> list[Event]:
    """What happened to it, for its history: its start comes first, its end last."""
    if tick.steady:
        return []
    ref = tick.job.ref
    said = [*tick.launched]
    if tick.memory.facts.stages and tick.before is not None:
        said += stage_events(ref, tick.before, tick.memory.facts)
    if tick.news.new_checkpoints:
        said.append(checkpoint_event(ref, tick.news.new_checkpoints))
    if tick.news.gaps:
        said.append(gap_event(ref, tick.news.gaps))
    fraction = tick.progress.fraction if tick.progress else None
    if reached := new_milestone(tick.memory.progress, fraction):
        said.append(Event("progress.milestone", f"{reached} % done", ref=ref, body={"percent": reached}))
    change = moved(tick.memory, ref, tick.change, tick.after, tick.diagnosis)
    return [*said, *change] if isinstance(tick.after.state, Ended) else [*change, *said]


def measured_of(tick: JobTick) -> dict[str, float]:
    """Its numbers, as its history keeps them."""
    lately = tick.sample or sampled(None, tick.watched.gpus)
    return measured(tick.progress, tick.workers, lately, tick.memory.files.outputs, tick.memory.loss.values)


def _no_eta(tick: JobTick) -> str:
    """Why no estimate is shown. The rules still see it: what a job would need if it went on is the least."""
    if not isinstance(tick.after.state, Running):
        return ""
    watched, native = tick.watched, tick.after.native
    found = (tick.workers, tick.progress, tick.eta, watched.verdict, watched.straggler)
    why = no_estimate.reason(tick.memory, tick.job, native, *found, tick.mono)
    return why or ("no progress" if stood(tick.job, tick.memory) else "")


def keep(tick: JobTick) -> WatchedJob:
    """The job as the next tick finds it, changed in place like its memory."""
    watched = tick.watched
    watched.known, watched.saved = tick.after, tick.mono if tick.save else watched.saved
    if not tick.steady:
        watched.job, watched.started, watched.progress = tick.job, tick.started, tick.progress
        watched.disks, watched.workers, watched.case, watched.described = tick.disks, tick.workers, None, tick.described
        watched.told = watched.told if tick.observation is None else tick.observation.facts
    return watched
