"""A job's tick begins: what this poll says of the job, and whether any of it is new."""

from __future__ import annotations

from dataclasses import replace

from dogwatch.model import Change, Known, Observation, Running
from dogwatch.text import is_suspended
from dogwatch.watcher.job import document
from dogwatch.watcher.job.disks import DiskSpace
from dogwatch.watcher.job.events import is_new_attempt
from dogwatch.watcher.job.job_tick import NO_NEWS, JobTick
from dogwatch.watcher.job.memory_checks import with_trees
from dogwatch.watcher.job.probe_answer import ProbeAnswer, with_logs
from dogwatch.watcher.job.read_files import News
from dogwatch.watcher.job.unchanged import SAVE_EVERY, is_idle, is_steady
from dogwatch.watcher.job.watched import WatchedJob

# A job of which nothing new is said has only its silence clocks to lose; not all are saved in the same tick.
SAVE_STEADY = 600.0


def begin_tick(
    watched: WatchedJob,
    after: Known,
    observation: Observation | None,
    change: Change | None,
    probe_answer: ProbeAnswer,
    disk_space: DiskSpace,
    at: float,
    mono: float,
    seconds: float,
) -> JobTick:
    """The tick of one job, `seconds` after the one before; `steady` where nothing is new, so that little is to do."""
    suspended = isinstance(after.state, Running) and is_suspended(after.native)
    clocks = at, mono, 0.0 if suspended else seconds
    tick = JobTick(watched, after, observation, change, probe_answer, *clocks, watched.job, watched.memory)
    tick.suspended, tick.anew = suspended, change is not None and is_new_attempt(change)
    if observation is not None and observation.track is not None:
        tick.job = replace(tick.job, track=observation.track, name=document.name_of(tick.job, observation.track))
    if observation is not None and change is None:
        tick.idle = is_idle(watched, after, observation, probe_answer, mono, seconds)
        tick.steady = tick.idle or is_steady(
            watched.job, watched.known, after, observation, watched.memory, watched.told, probe_answer
        )
    if tick.steady:
        _stay(tick, disk_space)
    if not tick.steady:
        _take_in(tick, disk_space)
    return tick


def _take_in(tick: JobTick, disk_space: DiskSpace) -> None:
    """What this poll says of the job itself."""
    tick.news = News()
    _take_facts(tick)
    tick.job = with_logs(tick.job, tick.memory)
    workers = () if tick.observation is None else tick.observation.workers
    tick.workers = with_trees(workers, tick.memory, tick.mono)
    tick.started = _started(tick)
    tick.disks = disk_space.of(tick.job)
    learnt = tick.change is not None or (tick.observation is not None and tick.observation.track is not None)
    tick.save = learnt or tick.mono - tick.watched.saved >= SAVE_EVERY


def _started(tick: JobTick) -> float | None:
    """When the attempt began: by its workers, else by its place."""
    first, state = tick.watched.started, tick.after.state
    if not tick.workers:
        first = state.since if isinstance(state, Running) else tick.memory.facts.started_at or first
    if first is None and tick.job.source == "process":
        first = tick.job.submitted  # its workers' beginning; they may have ended since
    return min((worker.started for worker in tick.workers if worker.started is not None), default=first)


def _stay(tick: JobTick, disk_space: DiskSpace) -> None:
    """What a job has that is as it was; not so if its disks are not."""
    watched = tick.watched
    tick.disks = disk_space.of(tick.job)
    tick.steady = tick.idle or disk_space.same(watched.disks, tick.disks)  # one that is idle is described soon anyway
    tick.news, tick.workers, tick.started = NO_NEWS, (), watched.started
    tick.save = not tick.idle and tick.mono - watched.saved >= SAVE_STEADY * (1 + hash(tick.job.ref) % 16 / 16)


def _take_facts(tick: JobTick) -> None:
    """What else the place said; a poll that said nothing of it keeps what an earlier one did."""
    memory, learnt = tick.memory, tick.probe_answer.learnt.get(tick.job.ref)
    if tick.observation is not None and tick.observation.facts is not None:
        tick.before = memory.facts
        memory.facts = tick.observation.facts.after(memory.facts)
    if tick.observation is not None and tick.observation.part:
        tick.new_part = memory.part not in ("", tick.observation.part)
        memory.part = tick.observation.part
    if learnt is not None:
        memory.learnt = memory.learnt.with_news(learnt)
