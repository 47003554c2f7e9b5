"""Jobs in the queue of a scheduler: taken under watch by id, or all of one's own, whoever submitted them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dogwatch.api import real_folders
from dogwatch.clock import Clock
from dogwatch.errors import CouldNotPoll, NoSuchJob, UsageError
from dogwatch.model import Expectation, Job, Unreachable
from dogwatch.model.job import Place, is_here, scheduler_here
from dogwatch.sources import kind_of
from dogwatch.sources.interface import FoundJob, JobId, Lookup, QueuedJob, Scheduler
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs, places
from dogwatch.store.rows import registration as register
from dogwatch.text import named, plain
from dogwatch.transport.interface import Answer, Transport
from dogwatch.wire.commands import NO_COMMANDS

if TYPE_CHECKING:
    from dogwatch.api.registry_file import RegistryEntry
    from dogwatch.wire.documents.job import JobDocument

_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
LIST_DEADLINE = 90.0
LOOKUP_DEADLINE = 15.0
FLOOR_HERE = 60.0  # a controller is asked once a minute, also by those who are beside it


class Added(NamedTuple):
    """A job that is watched from now on, and what is to be said of it."""

    job: JobDocument
    found: FoundJob | None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return str(self.job["ref"])

    @property
    def place(self) -> str:
        return str(self.job["place"])

    def entry(self, host: str, now: float) -> RegistryEntry:
        """What an agents' registry holds of it."""
        found = self.found
        submitted = now if found is None or found.submit is None else found.submit
        return {
            "type": self.job["source"],
            "id": self.job["id"],
            "host": host,
            "user": None if found is None else found.user,
            "submitted": time.strftime("%Y-%m-%d %H:%M", time.localtime(submitted)),
            "description": self.job["description"] or self.job["name"],
            "last_status": "SUBMITTED" if found is None else found.native.split()[0],
        }


def scheduler(name: str) -> Scheduler:
    """The scheduler of this name, as `dogwatch add` takes it."""
    kind = kind_of(name)
    if not isinstance(kind, Scheduler):
        raise UsageError(f"'{plain(name, 40)}' is not a supported scheduler")
    return kind


def is_scheduler(name: str) -> bool:
    return kind_of(name).is_scheduler


def name_here(kind: Scheduler) -> str:
    """What the place is called that stands for the scheduler of this machine."""
    return scheduler_here(kind.name)


def place_here(store: Store, kind: Scheduler) -> Place:
    """The place that stands for the scheduler of this machine; it is a place of its own, because its controller may
    hang while the processes of this machine can be seen."""
    name = name_here(kind)
    place = Place(name, name, {}, FLOOR_HERE)
    if all(row["name"] != name for row in places.places(store)):
        register.add_place(store, place)
    return place


class LookedUp(NamedTuple):
    """What a scheduler said of ids, and where the folders of the jobs' files are now."""

    said: Lookup | Unreachable
    real: Mapping[str, str] = {}


def look_up(
    kind: Scheduler,
    transport: Transport,
    place: Place,
    ids: Sequence[JobId],
    user: str | None,
    expect: Expectation,
    clock: Clock,
) -> LookedUp:
    """What the scheduler says of these ids now; NoSuchJob names those that it does not know, and Unreachable says why
    it cannot be asked, which is no reason not to watch them."""
    questions = kind.ask_for([one.id for one in ids], clock.now())
    questions.files |= real_folders.question(expect)
    answer = transport.ask(questions.to_request(), LOOKUP_DEADLINE)
    if isinstance(answer, Unreachable):
        return LookedUp(answer)
    return LookedUp(_read(kind, answer, place, ids, user), real_folders.read(answer.checked))


def _read(
    kind: Scheduler, answer: Answer, place: Place, ids: Sequence[JobId], user: str | None
) -> Lookup | Unreachable:
    wanted = [one.id for one in ids]
    where = "this machine" if is_here(place.kind) else place.name
    section = answer.checked.commands or NO_COMMANDS
    if program := kind.missing(section):
        raise UsageError(
            f"there is no {kind.title} on {where} ({program} is not there); --host NAME says which host has it"
        )
    why = kind.trouble(section, wanted)
    if why is not None:
        return Unreachable(place.name, answer.at, answer.duration, why)
    said = kind.look_up(section, wanted, user)
    for one in ids:
        if one.cluster and said.cluster and one.cluster != said.cluster:
            raise UsageError(f"job {one.id} is on the cluster {one.cluster}, and {where} is the cluster {said.cluster}")
    if said.unknown:
        whose = f" of {user}" if user else ""
        some = ", ".join(said.unknown[:8]) + (" …" if len(said.unknown) > 8 else "")
        jobs_ = "jobs" if len(said.unknown) > 1 else "job"
        raise NoSuchJob(
            f"{kind.title} on {where} knows no {jobs_} {some}{whose}: neither its queue nor its accounting lists"
            f" {'them' if len(said.unknown) > 1 else 'it'}; nothing was registered"
        )
    return said


def add_ids(
    kind: Scheduler,
    store: Store,
    clock: Clock,
    place: Place,
    ids: Sequence[JobId],
    looked_up: LookedUp,
    *,
    name: str | None,
    description: str,
    user: str | None,
    expect: Expectation,
) -> list[Added]:
    """Watch these jobs, with what the scheduler said of them."""
    added, said = [], looked_up.said
    for one in ids:
        found = None if isinstance(said, Unreachable) else said.found.get(one.id)
        ref = add(
            kind,
            store,
            clock,
            place.name,
            one.id,
            name=name,
            own_name=None if found is None else found.name,
            description=description,
            user=user or (found.user if found is not None else None),
            submitted=None if found is None else found.submit,
            told_by_scheduler=found is not None,
            cluster=one.cluster,
            expect=expect,
            log_given=bool(expect.logs),
            real=looked_up.real,
        )
        job = jobs.documents(store, refs=[ref])[0]
        notes = _remarks(kind, place, job["name"], found, said, bool(expect.logs))
        added.append(Added(job, found, notes))
    return added


def _remarks(
    kind: Scheduler,
    place: Place,
    name: str,
    found: FoundJob | None,
    said: Lookup | Unreachable,
    log_given: bool,
) -> tuple[str, ...]:
    """What a person should know about a job that was just registered."""
    if found is None:
        why = f"{place.name} did not answer: {said.why}" if isinstance(said, Unreachable) else said.unsure
        unknown = f"registered without asking {kind.title} ({plain(why, 200)})"
        return (f"{unknown}; the first poll will show whether it exists",)
    state = plain(found.native, 40) + (f" on {plain(found.nodes, 60)}" if found.nodes else "")
    notes = [f"{plain(name, 80)}: {state}"]
    if not found.queued and not log_given:
        where = plain(found.workdir, 200) if found.workdir else f"its work directory, which {kind.title} did not report"
        notes.append(
            f"{plain(name, 80)}: {kind.title} no longer knows where its log is; looking in {where} for the usual names."
            " If the log is elsewhere, give it: --log PATH"
        )
    return tuple(notes)


def add(
    kind: Scheduler,
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
    told_by_scheduler: bool = False,
    cluster: str | None = None,
    expect: Expectation | None = None,
    log_given: bool = False,
    real: Mapping[str, str] = {},
) -> str:
    """Watch one job of a place that is known; it need not be reachable now. Its ref, also if it was watched already.
    A submit time proves which job is meant only if the scheduler told it: people and registries tell the minute.
    Without a `name` it is called as the scheduler calls it, now (`own_name`) or as soon as that is known."""
    known = {place["name"] for place in places.places(store)}
    if host not in known:
        raise UsageError(f"no host named '{plain(host, 40)}'; `dogwatch host add {plain(host, 40)}` adds it")
    if user is not None and _USER.fullmatch(user) is None:
        raise UsageError(f"'{plain(user, 40)}' is not a user name")
    ref = f"{host}/{kind.name}:{job_id}"
    title = named(name, "--name") if name is not None else plain(own_name or "", 80)
    words = named(description, "--description") if description else ""
    if any(job["ref"] == ref for job in jobs.brief(store)):
        _add_to(store, ref, title if name is not None else None, words or None, expect, log_given)
        return ref
    track = kind.track(user, submitted if told_by_scheduler else None, cluster, log_given)
    if not title:
        track["unnamed"] = True
    job = Job(
        ref=ref,
        place=host,
        source=kind.name,
        id=job_id,
        name=title or job_id,
        description=words,
        submitted=submitted,
        registered=clock.now(),
        track=track,
        expect=expect or Expectation(),
    )
    register.register(store, job, clock.now(), clock.mono(), real)
    store.location.wake()
    return ref


def _add_to(
    store: Store, ref: str, name: str | None, description: str | None, expect: Expectation | None, log_given: bool
) -> None:
    """Whatever is said anew of a job that is watched already holds from now on; what is not said stays."""
    expect = expect or Expectation()
    if name is None and description is None and expect == Expectation():
        return
    register.amend(store, ref, name=name, description=description, expect=expect, log_given=log_given)
    store.location.wake()


def add_mine(kind: Scheduler, store: Store, clock: Clock, transport: Transport, host: str) -> list[str]:
    """Watch everything that the user has in the queue of a host; the refs."""
    return [
        add(
            kind,
            store,
            clock,
            host,
            job.id,
            own_name=job.name,
            user=job.user,
            submitted=job.submit,
            told_by_scheduler=True,
        )
        for job in in_queue(kind, transport, host, clock)
    ]


def in_queue(
    kind: Scheduler, transport: Transport, host: str, clock: Clock, deadline: float = LIST_DEADLINE
) -> Sequence[QueuedJob]:
    """The user's own jobs in the queue of a host."""
    answer = transport.ask(kind.ask_own_jobs(clock.now()).to_request(), deadline)
    if isinstance(answer, Unreachable):
        raise CouldNotPoll(f"{host} is unreachable: {answer.why}")
    section = answer.checked.commands or NO_COMMANDS
    why = kind.trouble(section, ())
    if why is not None:
        raise CouldNotPoll(f"{host} is unreachable: {why}")
    return kind.own_jobs(section)


def unwatched(kind: Scheduler, place: str, job_id: str, name: str | None = None, user: str | None = None) -> Job:
    """A job that is not registered, by where it is and its id."""
    track = kind.track(user, None, None, False)
    return Job(f"{place}/{kind.name}:{job_id}", place, kind.name, job_id, name or job_id, track=track)
