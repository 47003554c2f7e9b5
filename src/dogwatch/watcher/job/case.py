"""The job as the rules see it."""

from __future__ import annotations

from collections.abc import Mapping

from dogwatch.estimate.depletion import EVERY
from dogwatch.rules.interface import Case, Held
from dogwatch.watcher.job import launch
from dogwatch.watcher.job.error_groups import error_groups
from dogwatch.watcher.job.file_checks import made_by, saved_at
from dogwatch.watcher.job.freshness import unsure
from dogwatch.watcher.job.job_tick import JobTick
from dogwatch.watcher.job.memory_use import held_by
from dogwatch.watcher.job.stall import stood
from dogwatch.watcher.job.state.disks import gone_in
from dogwatch.watcher.job.state.learnt import NOTHING


def case_of(tick: JobTick) -> Case:
    """As the rules see it; of a job that stays what it was, the case of the tick before with what time moves."""
    memory = tick.memory
    if not tick.steady or memory.files.checkpoints or memory.produced.told:
        return _new_case(tick)
    case = tick.watched.case
    if case is None:
        case = tick.watched.case = _new_case(tick)
        return case
    case.known, case.age, case.disks = tick.after, memory.age, tick.disks
    case.verdict, case.straggler, case.gone_in = tick.watched.verdict, tick.watched.straggler, _gone_in(tick)
    case.held = _held(tick) if tick.workers or memory.ram.known else None
    case.unsure, case.compared = unsure(tick.watched), tick.watched.fresh.compared
    case.stood = stood(tick.job, memory)
    case.workers, case.eta, case.gpus, case.gpu_past = tick.workers, tick.eta, tick.watched.gpus, tick.watched.gpu_past
    return case


def _new_case(tick: JobTick) -> Case:
    memory = tick.memory
    return Case(
        job=tick.job,
        known=tick.after,
        workers=tick.workers,
        age=memory.age,
        progress=tick.progress,
        verdict=tick.watched.verdict,
        straggler=tick.watched.straggler,
        disks=tick.disks,
        errors=error_groups(memory),
        verified=tick.final.verified,
        eta=tick.eta,
        facts=memory.facts,
        moved=memory.learnt.moved,
        diagnosis=tick.diagnosis,
        checkpoints=saved_at(memory, tick.probe_answer) if memory.files.checkpoints else (),
        gone_in=_gone_in(tick),
        gpus=tick.watched.gpus,
        gpu_past=tick.watched.gpu_past,
        made=made_by(memory, tick.progress, tick.after.state) if memory.produced.told else None,
        held=_held(tick) if tick.workers or memory.ram.known or tick.probe_answer.learnt else None,
        loss=tick.watched.loss,
        lost_at_launch=launch.lost_worker(memory),
        compared=tick.watched.fresh.compared,
        unsure=unsure(tick.watched),
        stood=stood(tick.job, memory),
    )


def _held(tick: JobTick) -> Held | None:
    return held_by(tick.memory, tick.workers, tick.probe_answer.learnt.get(tick.job.ref, NOTHING).memory, tick.mono)


def _gone_in(tick: JobTick) -> Mapping[tuple[str, str], float]:
    """When the room will be gone; a trend is as good as its newest sample, and those are few."""
    watched = tick.watched
    if not 0 <= tick.mono - watched.room_at < EVERY:
        watched.gone_in, watched.room_at = gone_in(tick.memory.disks, tick.disks, tick.mono), tick.mono
    return watched.gone_in
