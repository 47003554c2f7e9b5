"""Watch a run that somebody started on a machine without a scheduler: found there first, then registered."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dogwatch.api import expectations, hosts
from dogwatch.api.commands import HERE
from dogwatch.clock import Clock
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model import Expectation, Job, Observation, Place, Unreachable, Waiting
from dogwatch.sources.box import source
from dogwatch.sources.box.track import BoxTrack, tracks
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs, registration
from dogwatch.store.rows.tick import load
from dogwatch.text import named, plain
from dogwatch.transport.interface import Transport
from dogwatch.wire.box import BoxSection
from dogwatch.wire.questions import Search

DEADLINE = 45.0
SHARED = "%s names the same log: what one of the runs writes there is read as said by both; give each its own log"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunToAdopt:
    """What was said of the run."""

    host: str | None
    tmux: str | None = None
    pid: int | None = None
    match: str | None = None
    logs: Sequence[str] = ()
    markers: Sequence[str] = ()
    results: Sequence[str] = ()
    expect_files: int | None = None
    checkpoints: Sequence[str] = ()
    resume: str | None = None
    name: str | None = None
    description: str = ""
    total_items: int | None = None
    stall_timeout: str | None = None
    min_growth: str | None = None


def adopt(
    store: Store,
    clock: Clock,
    transport: Callable[[Place], Transport],
    wanted: RunToAdopt,
    say: Callable[[str], None],
) -> str:
    """Register the run; its ref. It must be there now: what is learnt of it is how it is known again."""
    place = Place(HERE) if wanted.host in (None, HERE) else hosts.find(store, wanted.host or "")
    job = _job(place, clock, wanted)
    line = transport(place)
    try:
        observation = _poll(line, job, clock)
    finally:
        line.close()
    learnt = dict(observation.track or job.track)
    if same := _already(store, place.name, learnt):
        return same
    for other in jobs.documents(store):
        shared = set(other["expect"]["logs"]) & set(job.expect.logs)
        if other["place"] == place.name and other["source"] == job.source and shared:
            say(SHARED % plain(other["name"], 60))
    known = Job(
        ref=job.ref,
        place=job.place,
        source=job.source,
        id=job.id,
        name=job.name,
        description=job.description,
        submitted=learnt.get("began"),
        registered=job.registered,
        track=learnt,
        expect=job.expect,
    )
    registration.register(store, known, clock.now(), clock.mono())
    store.location.wake()
    return known.ref


def _job(place: Place, clock: Clock, wanted: RunToAdopt) -> Job:
    """The run as it was described, with what cannot be right refused."""
    if wanted.pid is not None and not 0 < wanted.pid < 1 << 31:
        raise UsageError(f"{wanted.pid} is not a process id; `ps` on the host lists them")
    if wanted.tmux is not None and (not wanted.tmux or any(mark in wanted.tmux for mark in ":.\n\t")):
        raise UsageError("--tmux takes the name of a session as `tmux ls` shows it, without `:` and `.`")
    if wanted.expect_files is not None and not wanted.results:
        raise UsageError("--expect-files counts result files: say which with --results GLOB")
    search = None
    if wanted.match is not None:
        search = Search(name=named(wanted.match, "--match name"))
    elif wanted.pid is not None:
        search = Search(pids=[wanted.pid])
    track = BoxTrack(
        tmux=wanted.tmux,
        find=search,
        markers=_paths(wanted.markers, "--marker"),
        results=_paths(wanted.results, "--results"),
        expect_files=wanted.expect_files,
        resume=wanted.resume or "",
    )
    expect = Expectation(
        logs=tuple(_paths(wanted.logs, "--log")),
        outputs=tuple(_paths(wanted.results, "--results")),
        checkpoints=tuple(_paths(wanted.checkpoints, "--checkpoint")),
        total_items=expectations.positive(wanted.total_items, "--total-items"),
        stall_timeout=expectations.seconds(wanted.stall_timeout, "--stall-timeout"),
        min_growth=expectations.growth(wanted.min_growth, "--min-growth"),
    )
    title = wanted.tmux or wanted.match or f"pid-{wanted.pid}"
    name = plain(title, 80) if wanted.name is None else named(wanted.name, "job name")
    job_id = f"{_slug(title)}-{secrets.token_hex(3)}"
    return Job(
        ref=f"{place.name}/{source.kind}:{job_id}",
        place=place.name,
        source=source.kind,
        id=job_id,
        name=name,
        description=named(wanted.description, "description") if wanted.description else "",
        registered=clock.now(),
        track=track.to_json(Job("", "", "", "", "")),
        expect=expect,
    )


def _paths(paths: Sequence[str], flag: str) -> list[str]:
    return [expectations.remote_path(path, flag) or "" for path in paths]


def _poll(transport: Transport, job: Job, clock: Clock) -> Observation:
    """What one poll shows of the run; a refusal says why it cannot be watched."""
    answer = transport.ask(source.ask([job], {}, clock.now()).to_request(), DEADLINE)
    if isinstance(answer, Unreachable):
        raise CouldNotPoll(f"{job.place} could not be asked: {answer.why}")
    section = answer.checked.section(source.section)
    if not isinstance(section, BoxSection) or not section.ok:
        raise CouldNotPoll(f"{job.place} could not be asked: {section.why or 'no reason given'}")
    if why := source.blind(section, [job]).get(job.ref):
        raise CouldNotPoll(f"{job.place}: {why}")
    observation = source.read(section, [job], {}, clock.now())[1].get(job.ref)
    if observation is None or isinstance(observation.state, Waiting):
        raise UsageError(_not_there(job, section, observation))
    return observation


def _not_there(job: Job, section: BoxSection, observation: Observation | None) -> str:
    track, row = tracks.of(job), section.rows.get(job.ref)
    if track.tmux is not None:
        why = f" ({section.tmux.why})" if section.tmux is not None and section.tmux.why else ""
        return f"there is no tmux session {plain(track.tmux, 60)} on {job.place}{why}; `tmux ls` there lists them"
    problem = row.find.problem if row is not None and row.find is not None else None
    return f"nothing to watch on {job.place}: {problem or 'no such process'}; `ps` there lists them"


def _already(store: Store, place: str, learnt: dict[str, object]) -> str | None:
    """The ref under which just this run is watched already."""
    for tracked in load(store, place):
        track = tracked.job.track
        if tracked.job.source == source.kind and track.get("attempt") == learnt.get("attempt"):
            return tracked.job.ref
    return None


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "run"
