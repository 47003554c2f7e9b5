"""Register jobs of this machine, and stop watching jobs; for every interface.

Everything is checked before anything is written.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import UNSET

from dogwatch.api import real_folders, workers
from dogwatch.clock import Clock
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model import Expectation, Job, Unreachable
from dogwatch.sources.process import ProcessTrack
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs
from dogwatch.store.rows import registration as register
from dogwatch.store.rows.tick import load
from dogwatch.text import named, plain
from dogwatch.transport.interface import Transport
from dogwatch.wire.questions import ProcessQuestions, Questions, Search
from dogwatch.wire.sections import NO_PROCESSES, Find, Who

HERE = "here"
POLL_DEADLINE = 10.0


def add_run(
    store: Store,
    clock: Clock,
    transport: Transport,
    *,
    run_id: str,
    directory: str,
    name: str,
    description: str,
    logs: Sequence[str],
    progress: Sequence[str],
    gpus: Sequence[str] | None,
    expect: Expectation,
) -> str:
    """Register a kept run that is about to start."""
    real = real_folders.ask(transport, replace(expect, logs=()))  # its logs are in our own home
    track = ProcessTrack(run=directory, logs=list(logs), progress=list(progress), gpus=list(gpus or ()))
    return _register(
        store, clock, run_id, name, description, track, replace(expect, logs=tuple(logs)), clock.now(), real
    )


def run_ids(store: Store) -> set[str]:
    """The kept runs that a job stands for, ended ones included."""
    return {job["id"] for job in jobs.brief(store, everything=True) if job["source"] == "process"}


def add_processes(
    store: Store,
    clock: Clock,
    transport: Transport,
    *,
    pids: Sequence[int] = (),
    pidfile: str | None = None,
    match: str | None = None,
    user: str | None = None,
    name: str | None = None,
    description: str = "",
    gpus: Sequence[str] | None = None,
    expect: Expectation | None = None,
    wait_for_them: bool = False,
) -> str:
    """Register workers that somebody else started. Unless `wait_for_them`, they must be there now. Given `pids` are
    exactly the workers; a name counts only where the pid file, if one is given, does not exist."""
    expect = expect or Expectation()
    pids = list(dict.fromkeys(pids))
    impossible = [pid for pid in pids if not 0 < pid < 1 << 31]
    if impossible:
        raise UsageError(f"{impossible[0]} is not a process id; `ps` lists them")
    if pids and expect.workers not in (None, len(pids)):
        raise UsageError(
            f"{len(pids)} pids were given and {expect.workers} workers are expected; give all pids or another number"
        )
    search = Search(
        pids or None, pidfile, match, workers.uid_of(user), expect.workers, fresh=int(expect.launch_timeout)
    )
    answer, real = _find_processes(transport, search, expect)
    workers.insist(answer, search, wait_for_them=wait_for_them)
    found = answer.workers
    told = name if name is not None else match or (os.path.basename(pidfile) if pidfile else None) or _command(answer)
    title = plain(told, 80) if name is None else named(told, "job name")
    track = ProcessTrack(workers=found, gpus=list(gpus or ()), numbers=[*(answer.numbers or [])] or [None] * len(found))
    if not found or not (pids or expect.workers is None or len(found) >= expect.workers):
        track.find = search
    else:
        expect = replace(expect, workers=expect.workers or len(found))
    same, job_id = _already(store, found)
    if same is not None:
        return same
    job_id = job_id or f"{_slug(title)}-{secrets.token_hex(3)}"
    started = min((process.started for process in answer.process if process.started), default=None)
    try:
        return _register(store, clock, job_id, title, description, track, expect, started, real)
    except UsageError:  # somebody who typed the same at the same moment was first
        same, _ = _already(store, found)
        if same is None:
            raise
        return same


def forget(store: Store, clock: Clock, ref: str) -> None:
    """Stop watching a job and leave it out of every list; its history stays."""
    register.forget(store, ref, clock.now(), clock.mono())
    store.location.wake()


def _register(
    store: Store,
    clock: Clock,
    job_id: str,
    name: str,
    description: str,
    track: ProcessTrack,
    expect: Expectation,
    submitted: float | None,
    real: Mapping[str, str],
) -> str:
    job = Job(
        ref=f"{HERE}/process:{job_id}",
        place=HERE,
        source="process",
        id=job_id,
        name=name,
        description=named(description, "description") if description else "",
        submitted=submitted,
        registered=clock.now(),
        track=track.to_json(),
        expect=expect,
    )
    register.register(store, job, clock.now(), clock.mono(), real)
    store.location.wake()
    return job.ref


def _find_processes(transport: Transport, search: Search, expect: Expectation) -> tuple[Find, Mapping[str, str]]:
    """The processes, and where the folders of the job's files are."""
    questions = Questions(process=ProcessQuestions(find={"it": search}), files=real_folders.question(expect))
    answer = transport.ask(questions.to_request(), POLL_DEADLINE)
    if isinstance(answer, Unreachable):
        raise CouldNotPoll(f"could not read the processes of this machine: {answer.why}")
    section = answer.checked.process or NO_PROCESSES
    if not section.ok or section.find is UNSET:
        raise CouldNotPoll(f"could not read the processes of this machine: {section.why or 'no reason given'}")
    return section.find["it"], real_folders.read(answer.checked)


def _already(store: Store, found: Sequence[Who]) -> tuple[str | None, str]:
    """The ref under which just these processes are watched already, if they are; and an id for them."""
    if not found:
        return None, ""
    job_id = f"{found[0][0]}-{found[0][1]}"
    watched = {one.job.ref: one.job for one in load(store, HERE)}
    mine = {tuple(row) for row in found}
    for ref, job in watched.items():
        if {tuple(row) for row in job.track.get("workers") or ()} == mine:
            return ref, job_id
    taken = f"{HERE}/process:{job_id}" in watched
    return None, f"{job_id}-{secrets.token_hex(2)}" if taken else job_id


def _command(answer: Find) -> str:
    return (answer.process[0].command if answer.process else None) or "process"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "job"
