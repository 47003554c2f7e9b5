"""Jobs in a Slurm queue: taken under watch by id, or all of one's own, whoever submitted them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dogwatch.clock import Clock
from dogwatch.errors import CouldNotLook, UsageError
from dogwatch.model import Dark, Expectation, Job
from dogwatch.reach.interface import Reach
from dogwatch.sources.slurm import source
from dogwatch.sources.slurm.queue import Row
from dogwatch.store import bell, jobs, places, register
from dogwatch.store.database import Store
from dogwatch.text import named, plain

# 12345, 12345_7, 12345_[3-9%2], 12345+1, 12345.batch: all parts of the job 12345.
_ID = re.compile(r"([1-9][0-9]{0,15})(?:_(?:[0-9]+|\[[0-9,%:-]+\])|\+[0-9]+)?(?:\.[a-z0-9]+)?")
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
LIST_DEADLINE = 90.0


def base_id(text: str) -> str:
    """The id under which a job is watched: an array, a heterogeneous job and their parts are one."""
    found = _ID.fullmatch(text)
    if found is None:
        raise UsageError(f"'{plain(text, 60)}' is not a Slurm job id; they look like 12345, 12345_7 or 12345+1")
    return found[1]


def add(
    store: Store,
    clock: Clock,
    host: str,
    job_id: str,
    *,
    name: str | None = None,
    description: str = "",
    user: str | None = None,
    submitted: float | None = None,
    told_by_slurm: bool = False,
    expect: Expectation | None = None,
    log_given: bool = False,
) -> str:
    """Watch one job of a host that was added; it need not be reachable now. Its ref, also if it was watched already.
    A submit time proves which job is meant only if Slurm told it: people and registries tell the minute."""
    known = {place["name"] for place in places.places(store)}
    if host not in known:
        raise UsageError(f"there is no host called '{plain(host, 40)}'; `dogwatch host add` adds one")
    if user is not None and _USER.fullmatch(user) is None:
        raise UsageError(f"'{plain(user, 40)}' is not a user name")
    base = base_id(job_id)
    ref = f"{host}/slurm:{base}"
    if any(job["ref"] == ref for job in jobs.brief(store)):
        return ref
    job = Job(
        ref=ref,
        place=host,
        source="slurm",
        id=base,
        name=named(name, "--name") if name is not None else base,
        description=named(description, "--description") if description else "",
        submitted=submitted,
        registered=clock.now(),
        track={"user": user, "submit": submitted if told_by_slurm else None, "cluster": None, "log_given": log_given},
        expect=expect or Expectation(),
    )
    register.register(store, job, clock.now(), clock.mono())
    bell.ring(store.home)
    return ref


def add_mine(store: Store, clock: Clock, reach: Reach, host: str) -> list[str]:
    """Watch everything that the user has in the queue of a host; the refs."""
    return [
        add(
            store,
            clock,
            host,
            row.base,
            name=plain(row.name, 80) or None,
            user=row.user,
            submitted=row.submit,
            told_by_slurm=True,
        )
        for row in in_queue(reach, host, clock)
    ]


def in_queue(reach: Reach, host: str, clock: Clock, deadline: float = LIST_DEADLINE) -> Sequence[Row]:
    """The user's own jobs in the queue of a host, one row each."""
    answer = reach.ask({source.section: source.ask_mine(clock.now())}, deadline)
    if isinstance(answer, Dark):
        raise CouldNotLook(f"{host} could not be asked: {answer.why}")
    section = answer.body.get(source.section) or {}
    why = None if section.get("ok") else str(section.get("why", "no reason given"))
    why = why or source.trouble(section, [])
    if why is not None:
        raise CouldNotLook(f"{host} could not be asked: {why}")
    return source.listed(section)
