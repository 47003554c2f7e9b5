"""The job of a chain: registered before anything is sent, confirmed when its machine has said that it runs.

Between the two it is an intent. The same request finds it again, so that a run whose answer got lost is started once.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

import msgspec

from dogwatch.api import scheduler_jobs
from dogwatch.api.chain_request import slug
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Expectation, Job
from dogwatch.model.job import HERE, Place
from dogwatch.store.interface import Store
from dogwatch.store.rows import registration
from dogwatch.store.rows.tick import load
from dogwatch.text import named, plain
from dogwatch.wire.chain import Chain

SOURCE = "box"
RUNS_THERE = "~/.dogwatch/runs"
RUN_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


@dataclass(frozen=True, slots=True)
class Intent:
    """A run that is to be started: the job that stands for it, and whether an earlier request had begun to send it."""

    ref: str
    run: str
    picked_up: bool


def intend(
    store: Store, clock: Clock, place: str, chain: Chain, runs: str, description: str, expect: Expectation
) -> Intent:
    """Register a chain that is about to be sent, or find the unfinished intent of the same request."""
    digest = hashlib.sha256(msgspec.json.encode(chain)).hexdigest()[:32]
    for watched in load(store, place):
        job = watched.job
        if job.source == SOURCE and job.track.get("sending") == digest:
            return Intent(job.ref, job.id, True)
    run = f"{slug(chain.name)}-{secrets.token_hex(3)}"
    job = Job(
        ref=f"{place}/{SOURCE}:{run}",
        place=place,
        source=SOURCE,
        id=run,
        name=chain.name,
        description=named(description, "description") if description else "",
        submitted=clock.now(),
        registered=clock.now(),
        track={"chain": f"{runs or RUNS_THERE}/{run}", "sending": digest},
        expect=expect,
    )
    registration.register(store, job, clock.now(), clock.mono())
    return Intent(job.ref, run, False)


def adopt_chain(store: Store, clock: Clock, place: str, directory: str, name: str | None, description: str) -> str:
    """Watch a chain that is on its machine and that this store does not know; its ref."""
    path = directory.rstrip("/")
    run = path.rpartition("/")[2]
    if not path.startswith(("/", "~/")) or not RUN_NAME.fullmatch(run):
        shown = plain(directory, 120)
        raise UsageError(
            f"--run takes the run directory of a chain, as in ~/.dogwatch/runs/train-3f91c2, not {shown!r}"
        )
    job = Job(
        ref=f"{place}/{SOURCE}:{run}",
        place=place,
        source=SOURCE,
        id=run,
        name=named(name, "--name") if name else run.rpartition("-")[0] or run,
        description=named(description, "description") if description else "",
        submitted=None,
        registered=clock.now(),
        track={"chain": path},
        expect=Expectation(),
    )
    registration.register(store, job, clock.now(), clock.mono())
    store.location.wake()
    return job.ref


def confirm(store: Store, ref: str, directory: str) -> None:
    """The machine has said that the chain was started, and where its files are."""
    registration.retrack(store, ref, chain=directory, sending=None)
    store.location.wake()


def withdraw(store: Store, clock: Clock, ref: str) -> None:
    """Take a chain back of which nothing was started."""
    registration.forget(store, ref, clock.now(), clock.mono())
    store.location.wake()


def became_slurm_jobs(
    store: Store, clock: Clock, place: Place, ref: str, chain: Chain, ids: tuple[int, ...], description: str
) -> list[str]:
    """Watch the jobs that the stages of a chain became, in place of the intent; their refs."""
    kind = scheduler_jobs.scheduler("slurm")
    where = scheduler_jobs.place_here(store, kind).name if place.name == HERE else place.name
    refs = [
        scheduler_jobs.add(
            kind, store, clock, where, str(job_id), name=f"{chain.name} {stage.name}", description=description
        )
        for stage, job_id in zip(chain.stages, ids, strict=True)
    ]
    withdraw(store, clock, ref)
    return refs
