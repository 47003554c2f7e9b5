"""Jobs in a Slurm queue: taken under watch by id, or all of one's own, whoever submitted them."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from dogwatch.clock import Clock
from dogwatch.desk.job_ids import JobId
from dogwatch.errors import CouldNotLook, NoSuchJob, UsageError
from dogwatch.model import Dark, Expectation, Job
from dogwatch.model.job import CLUSTER_HERE, Place
from dogwatch.reach.interface import Reach
from dogwatch.sources.slurm import lookup, source
from dogwatch.sources.slurm.lookup import Found, Lookup
from dogwatch.sources.slurm.queue import Row
from dogwatch.store import bell, jobs, places, register
from dogwatch.store.database import Store
from dogwatch.text import named, plain

_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
LIST_DEADLINE = 90.0
LOOKUP_DEADLINE = 15.0
FLOOR_HERE = 60.0  # a controller is asked once a minute, also by those who are beside it


class Added(NamedTuple):
    """A job that is watched from now on, and what is to be said of it."""

    job: dict[str, Any]
    found: Found | None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return str(self.job["ref"])

    @property
    def place(self) -> str:
        return str(self.job["place"])

    def entry(self, host: str, now: float) -> dict[str, Any]:
        """What an agents' registry holds of it."""
        found = self.found
        submitted = now if found is None or found.submit is None else found.submit
        return {
            "type": "slurm",
            "id": self.job["id"],
            "host": host,
            "user": None if found is None else found.user,
            "submitted": time.strftime("%Y-%m-%d %H:%M", time.localtime(submitted)),
            "description": self.job["description"] or self.job["name"],
            "last_status": "SUBMITTED" if found is None else found.native.split()[0],
        }


def cluster_here(store: Store) -> Place:
    """The place that stands for the Slurm of this machine; it is a place of its own, because its controller may hang
    while the processes of this machine can be seen."""
    place = Place(CLUSTER_HERE, CLUSTER_HERE, {}, FLOOR_HERE)
    if all(row["name"] != CLUSTER_HERE for row in places.places(store)):
        register.add_place(store, place)
    return place


def look_up(reach: Reach, place: Place, ids: Sequence[JobId], user: str | None, clock: Clock) -> Lookup | Dark:
    """What Slurm says of these ids now; NoSuchJob names those that it does not know, and Dark says why it cannot be
    asked, which is no reason not to watch them."""
    wanted = [one.id for one in ids]
    answer = reach.ask({source.section: lookup.request(wanted, clock.now()) | {"about": True}}, LOOKUP_DEADLINE)
    where = "this machine" if place.kind == CLUSTER_HERE else place.name
    if isinstance(answer, Dark):
        return answer
    section: dict[str, Any] = answer.body.get(source.section) or {}
    if (section.get("queue") or {}).get("why") == "not found":
        raise UsageError(f"there is no Slurm on {where} (squeue is not there); --host NAME says which host has it")
    why = lookup.trouble(section, wanted)
    if why is not None:
        return Dark(place.name, answer.at, answer.duration, why)
    said = lookup.read(section, wanted, user)
    for one in ids:
        if one.cluster and said.cluster and one.cluster != said.cluster:
            raise UsageError(f"job {one.id} is on the cluster {one.cluster}, and {where} is the cluster {said.cluster}")
    if said.unknown:
        whose = f" of {user}" if user else ""
        some = ", ".join(said.unknown[:8]) + (" …" if len(said.unknown) > 8 else "")
        jobs_ = "jobs" if len(said.unknown) > 1 else "job"
        raise NoSuchJob(
            f"Slurm on {where} knows no {jobs_} {some}{whose}: neither its queue nor its accounting lists"
            f" {'them' if len(said.unknown) > 1 else 'it'}; nothing was registered"
        )
    return said


def add_ids(
    store: Store,
    clock: Clock,
    place: Place,
    ids: Sequence[JobId],
    said: Lookup | Dark,
    *,
    name: str | None,
    description: str,
    user: str | None,
    expect: Expectation,
) -> list[Added]:
    """Watch these jobs, with what Slurm said of them."""
    added = []
    for one in ids:
        found = None if isinstance(said, Dark) else said.found.get(one.id)
        ref = add(
            store,
            clock,
            place.name,
            one.id,
            name=name,
            own_name=None if found is None else found.name,
            description=description,
            user=user or (found.user if found is not None else None),
            submitted=None if found is None else found.submit,
            told_by_slurm=found is not None,
            cluster=one.cluster,
            expect=expect,
            log_given=bool(expect.logs),
        )
        job = jobs.documents(store, refs=[ref])[0]
        notes = _notes(place, job["name"], found, said, bool(expect.logs))
        added.append(Added(job, found, notes))
    return added


def _notes(place: Place, name: str, found: Found | None, said: Lookup | Dark, log_given: bool) -> tuple[str, ...]:
    """What a person should know about a job that was just registered."""
    if found is None:
        why = f"{place.name} did not answer: {said.why}" if isinstance(said, Dark) else said.unsure
        return (f"registered without a word from Slurm ({plain(why, 200)}); the first poll will say whether it exists",)
    state = plain(found.native, 40) + (f" on {plain(found.nodes, 60)}" if found.nodes else "")
    notes = [f"{plain(name, 80)}: {state}"]
    if not found.queued and not log_given:
        where = plain(found.workdir, 200) if found.workdir else "its work directory, which Slurm does not tell"
        notes.append(
            f"{plain(name, 80)}: it left the controller, which alone knows where its log is; it is looked for in"
            f" {where} by the usual names, and --log PATH names it if it is elsewhere"
        )
    return tuple(notes)


def add(
    store: Store,
    clock: Clock,
    host: str,
    job_id: str,
    *,
    name: str | None = None,
    own_name: str | None = None,
    description: str = "",
    user: str | None = None,
    submitted: float | None = None,
    told_by_slurm: bool = False,
    cluster: str | None = None,
    expect: Expectation | None = None,
    log_given: bool = False,
) -> str:
    """Watch one job of a place that is known; it need not be reachable now. Its ref, also if it was watched already.
    A submit time proves which job is meant only if Slurm told it: people and registries tell the minute. Without a
    `name` it is called as Slurm calls it, now (`own_name`) or as soon as that is known."""
    known = {place["name"] for place in places.places(store)}
    if host not in known:
        raise UsageError(f"there is no host called '{plain(host, 40)}'; `dogwatch host add {plain(host, 40)}` adds it")
    if user is not None and _USER.fullmatch(user) is None:
        raise UsageError(f"'{plain(user, 40)}' is not a user name")
    ref = f"{host}/slurm:{job_id}"
    title = named(name, "--name") if name is not None else plain(own_name or "", 80)
    words = named(description, "--description") if description else ""
    if any(job["ref"] == ref for job in jobs.brief(store)):
        _add_to(store, ref, title if name is not None else None, words or None, expect, log_given)
        return ref
    track: dict[str, Any] = {"user": user, "submit": submitted if told_by_slurm else None, "cluster": cluster}
    track["log_given"] = log_given
    if not title:
        track["unnamed"] = True
    job = Job(
        ref=ref,
        place=host,
        source="slurm",
        id=job_id,
        name=title or job_id,
        description=words,
        submitted=submitted,
        registered=clock.now(),
        track=track,
        expect=expect or Expectation(),
    )
    register.register(store, job, clock.now(), clock.mono())
    bell.ring(store.home)
    return ref


def _add_to(
    store: Store, ref: str, name: str | None, description: str | None, expect: Expectation | None, log_given: bool
) -> None:
    """Whatever is said anew of a job that is watched already holds from now on; what is not said stays."""
    given = _said(expect or Expectation())
    if name is None and description is None and not given:
        return
    register.amend(store, ref, name=name, description=description, expect=given, log_given=log_given)
    bell.ring(store.home)


def _said(expect: Expectation) -> dict[str, Any]:
    blank = Expectation()
    return {
        key: value for key in Expectation.__dataclass_fields__ if (value := getattr(expect, key)) != getattr(blank, key)
    }


def add_mine(store: Store, clock: Clock, reach: Reach, host: str) -> list[str]:
    """Watch everything that the user has in the queue of a host; the refs."""
    return [
        add(
            store,
            clock,
            host,
            row.base,
            own_name=row.name,
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
