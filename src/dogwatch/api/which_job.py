"""Find the job that is meant when a command names none.

Looked up in this order, until one of these has a job: the registry of this directory, the watched jobs, recent
evaluation runs, the user's queue on each host, recent launcher experiments. A single candidate is chosen, with the
reason; of several, none is. Hosts that are unreachable are named.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dogwatch.api import hosts, launcher_traces, poll_unwatched, registry, scheduler_jobs
from dogwatch.api.commands import HERE
from dogwatch.api.host_names import HostNames
from dogwatch.api.launcher_traces import Trace
from dogwatch.clock import Clock, local_date
from dogwatch.errors import CouldNotPoll
from dogwatch.model import Job, Place
from dogwatch.sources import kind_of, schedulers
from dogwatch.sources.interface import QueuedJob, Scheduler
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.rows import places as place_rows
from dogwatch.text import plain
from dogwatch.transport.interface import Transport

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import BriefJob, JobDocument
    from dogwatch.wire.documents.watch import CandidateDocument

QUEUE_DEADLINE = 60.0
TOOLS = {"nel": ("nel",), "launcher": ("nemo_run", "srtctl")}

Ways = Callable[[Place], Transport]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job, or the jobs of one run, that may be meant. `jobs` are those of them that are not watched; `said` is what
    is known of it without asking, `note` why it cannot be asked about."""

    source: str
    title: str
    refs: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    said: str = ""
    note: str = ""
    path: str | None = None
    ended: bool = False

    def document(self) -> CandidateDocument:
        return {
            "from": self.source,
            "title": self.title,
            "refs": list(self.refs),
            "said": self.said or None,
            "note": self.note or None,
            "path": self.path,
        }


@dataclass(slots=True)
class WhichJob:
    """What was found: the candidates that fit, why they are the ones, and who could not be asked."""

    fits: list[Candidate] = field(default_factory=list)
    why: str = ""
    notes: list[str] = field(default_factory=list)
    unreachable: dict[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> Candidate | None:
        return self.fits[0] if len(self.fits) == 1 else None


class Search:
    """One search through everything that can tell what runs. It changes nothing."""

    def __init__(self, store: Store, clock: Clock, ways: Ways, directory: str, environment: Mapping[str, str]) -> None:
        self._store, self._clock, self._ways = store, clock, ways
        self._directory, self._environment = os.path.abspath(directory), environment
        self._home = environment.get("HOME") or os.path.expanduser("~")
        self._known = {job["ref"]: job for job in job_rows.brief(store, everything=True)}
        self._names = HostNames(store)

    def which_job(self) -> WhichJob:
        found = WhichJob()
        levels = (self._registry, self._watched, self._evaluations, self._queues, self._experiments)
        for level in levels:
            candidates, what = level(found)
            living = [one for one in candidates if not one.ended]
            found.fits = living or candidates
            if found.fits:
                found.why = f"{what}{' that has not ended' if living != candidates else ''}"
                break
        return found

    def _registry(self, found: WhichJob) -> tuple[list[Candidate], str]:
        candidates: dict[tuple[str, ...], Candidate] = {}
        paths = registry.nearest(self._directory)
        for path in paths:
            named, notes = registry.listed(self._store, path)
            found.notes += notes
            for one in named:
                candidate = self._named(one, found)
                if candidate is not None:
                    candidates.setdefault(candidate.refs or (candidate.title,), candidate)
        shown = " and ".join(plain(path, 120) for path in paths[:2]) + (" …" if len(paths) > 2 else "")
        return list(candidates.values()), f"the only job in the registry {shown}"

    def _named(self, named: registry.Named, found: WhichJob) -> Candidate | None:
        if named.job is not None:
            return self._of_job("registry", named.job, named.path)
        if named.launched is not None:
            return self._launched(named, found)
        entry = named.entry
        kind = None if entry is None else kind_of(entry.kind)
        if entry is None or not isinstance(kind, Scheduler):
            return None
        job = scheduler_jobs.unwatched(kind, entry.place, entry.base, entry.description or None, entry.user)
        return Candidate("registry", job.name, (job.ref,), (job,), "not watched yet", path=named.path)

    def _launched(self, named: registry.Named, found: WhichJob) -> Candidate | None:
        """An entry of a launcher's own kind, by what the launcher left on this machine."""
        kind, wanted = named.launched or ("", "")
        known = [*self._traces(launcher_traces.evaluations), *self._traces(launcher_traces.experiments)]
        same = [one for one in known if one.tool in TOOLS.get(kind, ()) and wanted and one.id.startswith(wanted)]
        if len(same) == 1:
            return self._of_trace("registry", same[0])
        found.notes.append(f"{plain(named.path, 120)} names {kind} {wanted}, which was not found here")
        return None

    def _watched(self, found: WhichJob) -> tuple[list[Candidate], str]:
        living = [job for job in self._known.values() if job["active"] and job["state"] != "ended"]
        return [self._of_job("watched", job) for job in living], "the only job that is watched and has not ended"

    def _evaluations(self, found: WhichJob) -> tuple[list[Candidate], str]:
        recent = self._traces(launcher_traces.evaluations)
        return [self._of_trace("evaluation", one) for one in recent], f"the only evaluation run of {_SPAN}"

    def _experiments(self, found: WhichJob) -> tuple[list[Candidate], str]:
        recent = self._traces(launcher_traces.experiments)
        return [self._of_trace("experiment", one) for one in recent], f"the only launcher experiment of {_SPAN}"

    def _traces(self, find: Callable[..., list[Trace]]) -> list[Trace]:
        return find(self._clock.now(), self._home, self._directory, self._environment)

    def _queues(self, found: WhichJob) -> tuple[list[Candidate], str]:
        """The user's own jobs in the queue of every host, all of which are asked at the same time."""
        places = hosts.everyone(self._store)
        asked = [_Asked(place, self._ways(place), self._clock) for place in places]
        candidates = []
        for one in asked:
            one.done.join()
            if one.why:
                found.unreachable[one.place.name] = one.why
            candidates += [self._of_queue(one.place.name, kind, queued) for kind, queued in one.jobs]
        names = ", ".join(place.name for place in places if place.name not in found.unreachable)
        return candidates, f"your only job in the queue of {names}"

    def _of_job(self, source: str, job: BriefJob, path: str | None = None) -> Candidate:
        said = str(job["outcome"] or job["state"] or "not polled").replace("_", " ")
        ended = job["state"] == "ended"
        return Candidate(source, plain(job["name"], 80), (job["ref"],), (), said, path=path, ended=ended)

    def _of_queue(self, place: str, kind: Scheduler, queued: QueuedJob) -> Candidate:
        job = scheduler_jobs.unwatched(kind, place, queued.id, plain(queued.name, 80) or None, queued.user or None)
        known = job.ref in self._known
        return Candidate("queue", job.name, (job.ref,), () if known else (job,), plain(queued.native, 40).lower())

    def _of_trace(self, source: str, trace: Trace) -> Candidate:
        place = HERE if trace.host is None else self._place_called(trace.host)
        title = plain(f"{trace.title} ({trace.tool} {trace.id})", 160)
        said = f"started {local_date(trace.at)}" + {True: ", over", False: ", not finished", None: ""}[trace.over]
        if trace.jobs and place is None:
            note = f"its jobs {', '.join(trace.jobs[:4])} are on {trace.host}, which is not a configured host"
            return Candidate(source, title, (), (), said, note, trace.path, bool(trace.over))
        kind = scheduler_jobs.scheduler(trace.scheduler)
        names = {one: f"{trace.id}.{one}" for one in trace.jobs}
        jobs = [scheduler_jobs.unwatched(kind, place or HERE, one, name, trace.user) for one, name in names.items()]
        states = [self._known[job.ref]["state"] if job.ref in self._known else None for job in jobs]
        ended = bool(trace.over) or (bool(jobs) and all(state == "ended" for state in states))
        unknown = tuple(job for job in jobs if job.ref not in self._known)
        note = "" if jobs else "it has no job id: it runs where it was started"
        return Candidate(source, title, tuple(job.ref for job in jobs), unknown, said, note, trace.path, ended)

    def _place_called(self, host: str) -> str | None:
        """The place that a tool means by a host: one of our names for it, or the address behind one."""
        return self._names.place(host)


_SPAN = f"the last {launcher_traces.RECENT / 86400:g} days"


class _Asked:
    """A host whose queue is being asked for, in a thread of its own: one that hangs delays no other, nor our end."""

    def __init__(self, place: Place, transport: Transport, clock: Clock) -> None:
        self.place, self._transport, self._clock = place, transport, clock
        self.jobs: list[tuple[Scheduler, QueuedJob]] = []
        self.why = ""
        self.done = threading.Thread(target=self._ask, daemon=True)
        self.done.start()

    def _ask(self) -> None:
        try:
            for kind in schedulers():
                queue = scheduler_jobs.in_queue(kind, self._transport, self.place.name, self._clock, QUEUE_DEADLINE)
                self.jobs += [(kind, job) for job in queue]
        except CouldNotPoll as error:
            self.why = str(error).removeprefix(f"{self.place.name} is unreachable: ")
        finally:
            self._transport.close()


def documents(store: Store, clock: Clock, ways: Ways, which_job: Candidate) -> tuple[list[JobDocument], dict[str, str]]:
    """The candidate's jobs in full: from the store, and those that are not watched by one look at each of their places;
    and which of those did not answer, with the reason."""
    found = {job["ref"]: job for job in job_rows.documents(store, everything=True, refs=which_job.refs)}
    unreachable: dict[str, str] = {}
    for place, some in _by_place(store, which_job.jobs):
        transport = ways(place)
        try:
            told, why = poll_unwatched.poll(scheduler_jobs.scheduler(some[0].source).source, transport, some, clock)
        finally:
            transport.close()
        found |= {job["ref"]: job for job in told}
        unreachable |= {} if why is None else {place.name: why}
    return [found[ref] for ref in which_job.refs if ref in found], unreachable


def _by_place(store: Store, jobs: Sequence[Job]) -> Iterator[tuple[Place, list[Job]]]:
    for place in place_rows.known_places(store):
        for source in dict.fromkeys(job.source for job in jobs):
            some = [job for job in jobs if (job.place, job.source) == (place.name, source)]
            if some:
                yield place, some
