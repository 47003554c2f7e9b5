"""Watch jobs that are already there: what any interface asks for, checked as a whole before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dogwatch.api import commands, hosts, registry, scheduler_jobs
from dogwatch.api.expectations import Note, globs, growth, positive, remote_path, seconds
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Expectation
from dogwatch.model.job import HERE, Place
from dogwatch.sources.interface import JobId, Scheduler
from dogwatch.store.interface import Store
from dogwatch.transport.interface import Transport

MOST_OUTPUT = 1 << 20  # of what a submit command printed


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessesToWatch:
    """Processes of this machine, named in one way: by pids, by a file with them, or by a name. Durations and rates are
    as people write them."""

    pids: Sequence[int] = ()
    pidfile: str | None = None
    match: str | None = None
    user: str | None = None
    name: str | None = None
    description: str = ""
    workers: int | None = None
    logs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    checkpoints: Sequence[str] = ()
    total_items: int | None = None
    stall_timeout: str | None = None
    min_growth: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerJobsToWatch:
    """Jobs of a scheduler, named in one way: `ids` as people write them, `output` of its submit command, or all of
    one's own (`mine`). Without a `host` the scheduler of this machine is asked."""

    scheduler: str
    ids: Sequence[str] = ()
    output: str | None = None
    mine: bool = False
    host: str | None = None
    user: str | None = None
    name: str | None = None
    description: str = ""
    log: str | None = None
    output_dir: str | None = None
    checkpoints: Sequence[str] = ()
    total_items: int | None = None
    stall_timeout: str | None = None
    min_growth: str | None = None
    registry: str | None = None


def watch_processes(store: Store, clock: Clock, transport: Transport, wanted: ProcessesToWatch, note: Note) -> str:
    """Register processes of this machine; the ref of the job. `note` takes what a person should know of it."""
    if sum(map(bool, (wanted.pids, wanted.pidfile, wanted.match))) != 1:
        raise UsageError("give the processes in one way: PID..., --pidfile FILE or --match NAME")
    for pid in wanted.pids:
        positive(pid, "PID")
    expect = Expectation(
        workers=positive(wanted.workers, "--workers"),
        logs=globs(wanted.logs, "--log"),
        outputs=globs(wanted.outputs, "--output", later=True, note=note),
        checkpoints=globs(wanted.checkpoints, "--checkpoint", later=True, note=note),
        total_items=positive(wanted.total_items, "--total-items"),
        stall_timeout=seconds(wanted.stall_timeout, "--stall-timeout"),
        min_growth=growth(wanted.min_growth, "--min-growth"),
    )
    return commands.add_processes(
        store,
        clock,
        transport,
        pids=wanted.pids,
        pidfile=None if wanted.pidfile is None else globs([wanted.pidfile], "--pidfile")[0],
        match=wanted.match,
        user=wanted.user,
        name=wanted.name,
        description=wanted.description,
        expect=expect,
    )


def watch_scheduler_jobs(
    store: Store, clock: Clock, way_to: Callable[[Place], Transport], wanted: SchedulerJobsToWatch, note: Note
) -> list[str]:
    """Register jobs of a scheduler, and write them into a registry if one is named; their refs."""
    kind = scheduler_jobs.scheduler(wanted.scheduler)
    if (bool(wanted.ids), wanted.output is not None, wanted.mine).count(True) != 1:
        raise UsageError("give the jobs in one way: ID..., - (stdin) or --mine")
    ids = _ids(kind, wanted)
    expect = _expected(wanted)
    if wanted.registry is not None:
        registry.check(wanted.registry)
    place = scheduler_jobs.place_here(store, kind) if wanted.host in (None, HERE) else hosts.find(store, wanted.host)
    transport = way_to(place)
    try:
        if wanted.mine:
            return scheduler_jobs.add_mine(kind, store, clock, transport, place.name)
        looked_up = scheduler_jobs.look_up(kind, transport, place, ids, wanted.user, expect, clock)
    finally:
        transport.close()
    added = scheduler_jobs.add_ids(
        kind,
        store,
        clock,
        place,
        ids,
        looked_up,
        name=wanted.name,
        description=wanted.description,
        user=wanted.user,
        expect=expect,
    )
    for job in added:
        for text in job.notes:
            note(text)
        if wanted.registry is not None:
            registry.enter(store, wanted.registry, job.entry(registry.host_of(store, job.place), clock.now()))
    return [job.ref for job in added]


def _ids(kind: Scheduler, wanted: SchedulerJobsToWatch) -> list[JobId]:
    if wanted.output is not None:
        return kind.ids_in_output(wanted.output[:MOST_OUTPUT])
    return kind.ids_in_words(wanted.ids)


def _expected(wanted: SchedulerJobsToWatch) -> Expectation:
    log, outputs = remote_path(wanted.log, "--log"), remote_path(wanted.output_dir, "--output-dir")
    return Expectation(
        logs=() if log is None else (log,),
        outputs=() if outputs is None else (f"{outputs.rstrip('/')}/*",),
        total_items=positive(wanted.total_items, "--total-items"),
        stall_timeout=seconds(wanted.stall_timeout, "--stall-timeout"),
        checkpoints=tuple(remote_path(glob, "--checkpoint") or "" for glob in wanted.checkpoints),
        min_growth=growth(wanted.min_growth, "--min-growth"),
    )
