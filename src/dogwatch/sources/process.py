"""Jobs that are processes: kept runs of our own, and workers that somebody else started.

A process is (boot id, pid, start time); a reused pid is somebody else. A worker that vanished
without a record has ended, and nobody knows how: that is never success.
"""

from __future__ import annotations

import fnmatch
import re
import signal
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs, to_builtins

from dogwatch.model import (
    Ended,
    Evidence,
    Expectation,
    Facts,
    Job,
    Known,
    Observation,
    Outcome,
    Running,
    Waiting,
    Worker,
)
from dogwatch.model.state import State
from dogwatch.sources.interface import Kind, Source, SourcePlugin
from dogwatch.wire.questions import ProcessQuestions, Questions, Search
from dogwatch.wire.sections import Find, OomEnd, Process, ProcessSection, Record, Run, RunWorker, Who
from dogwatch.wire.tracks import Tracks

if TYPE_CHECKING:
    from dogwatch.sources.interface import Section

ALIVE = frozenset({"running", "sleeping", "stopped", "uninterruptible", "hidden"})
CLOCKS = 2.0  # seconds by which two clocks of one machine may differ
RECORD_PATIENCE = 30.0  # a supervisor writes its record at once, unless the disk is full or it is stopped
UNRECORDED = "exit code unknown (not started by `dogwatch run`)"
UNWATCHED = "it exited before it was watched; exit code unknown"
PROCESS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
WORST_FIRST = (Outcome.OUT_OF_MEMORY, Outcome.FAILED, Outcome.UNKNOWN, Outcome.SUCCEEDED)


class WorkerHistory(Struct, omit_defaults=True):
    """What is remembered of a worker that somebody else started: when it started, the logs it writes, the memory kills
    counted while it lived, when it was first seen gone, and the status that it showed as a zombie."""

    started: float | None = None
    logs: list[str] = []
    kills: int | None = None
    gone_at: float | None = None
    exit_status: int | None = None


class Cancel(Struct):
    """Who wanted the job to be ended, and when."""

    at: float
    by: str


class ProcessTrack(Struct, omit_defaults=True):
    """How to know a job again: the directory of a `run` under the supervisor; or others' workers, those known so far
    and how to `find` the rest. `logs`, `progress` and `gpus` are by worker."""

    run: str | None = None
    find: Search | None = None
    workers: list[Who] = []
    numbers: list[int | None] = []
    ends: dict[str, WorkerHistory] = {}
    attempt: str = ""
    logs: list[str] = []
    progress: list[str] = []
    gpus: list[str | int] = []
    cancel: Cancel | None = None

    def to_json(self) -> dict[str, Any]:
        """As the store has it, where there are no tuples."""
        track: dict[str, Any] = to_builtins(self)
        return track | {"workers": [list(who) for who in self.workers]}


tracks = Tracks(ProcessTrack)


class ProcessSource(Source):
    """See the module: one question about all runs, pids and names; one observation per job."""

    kind = "process"
    section = "process"

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Questions:
        asked = ProcessQuestions()
        for job in jobs:
            track = tracks.of(job)
            if track.run is not None:
                asked.runs[job.ref] = track.run
                continue
            if track.workers:
                asked.pids[job.ref] = track.workers
            if track.find is not None and _still_gathering(job, track, known.get(job.ref, Known()), at):
                asked.find[job.ref] = track.find
        return Questions(process=asked)

    def read(
        self, answer: Section, jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        assert isinstance(answer, ProcessSection)
        runs, pids, find = answer.runs or {}, answer.pids or {}, answer.find or {}
        asked, observations = set(), {}
        for job in jobs:
            observation: Observation | None
            if tracks.of(job).run is not None:
                run = runs.get(job.ref)
                if run is None or run.problem or run.supervisor_alive is None:
                    continue
                observation = _kept(job, run, at)
                if observation is None and _just_seen(known.get(job.ref, Known()), at):
                    continue
            else:
                observation = _attached(job, pids.get(job.ref, ()), find.get(job.ref), at)
            asked.add(job.ref)
            if observation is not None:
                observations[job.ref] = _as_cancelled(observation, tracks.of(job).cancel)
        return frozenset(asked), observations

    def trouble(self, answer: Section, jobs: Sequence[Job]) -> str | None:
        return None  # a process table that answers at all answers for every process

    def blind(self, answer: Section, jobs: Sequence[Job]) -> dict[str, str]:
        assert isinstance(answer, ProcessSection)
        runs = {job.ref: (answer.runs or {}).get(job.ref) for job in jobs if tracks.of(job).run is not None}
        return {
            ref: (run and run.problem) or "the records of the run could not be read"
            for ref, run in runs.items()
            if run is None or run.problem or run.supervisor_alive is None
        }


class ProcessKind(Kind):
    """Jobs that are processes of the machine that is polled."""

    id_example = "a process id"

    def runs_on(self, facts: Facts, host: str) -> bool:
        return True

    def has_log_of_its_own(self, job: Job) -> bool:
        return tracks.of(job).run is not None

    def registered_id(self, text: str) -> str | None:
        return text if PROCESS_ID.fullmatch(text) else None


source = ProcessSource()
PLUGIN = SourcePlugin("process", "processes of a machine", lambda: source)
KIND = ProcessKind("process")


def _as_cancelled(observation: Observation, cancel: Cancel | None) -> Observation:
    """A bad or unknown ending after somebody wanted it is what they wanted; one that was before it stays as it is."""
    state = observation.state
    if cancel is None or not isinstance(state, Ended) or state.outcome not in (Outcome.FAILED, Outcome.UNKNOWN):
        return observation
    if state.at is not None and state.at < cancel.at - CLOCKS:
        return observation
    reason = f"cancelled by {cancel.by} (dogwatch cancel)"
    ended = replace(state, outcome=Outcome.CANCELLED, reason=reason)
    return replace(observation, state=ended, reason=reason)


def _still_gathering(job: Job, track: ProcessTrack, known: Known, at: float) -> bool:
    """Whether to go on looking for workers: until all are there, and not long after the first came,
    lest an unrelated process of the same name is taken for one of them next week."""
    have, want = len(track.workers), track.find.want if track.find is not None else None
    if not have:
        return True
    if want is None or have >= want:
        return False
    return known.since is None or at - known.since <= job.expect.launch_timeout


def _just_seen(known: Known, at: float) -> bool:
    """Whether a supervisor that has not written down an ending may still be about to."""
    return known.confirmed_at is not None and 0 <= at - known.confirmed_at < RECORD_PATIENCE


def _kept(job: Job, run: Run, at: float) -> Observation | None:
    """A run under the supervisor, by its records; None when it is between its end and its record."""
    if run.abandoned:
        return _never_started(job, run, at)
    workers = tuple(_kept_worker(job, entry, bool(run.supervisor_alive)) for entry in run.workers)
    if run.supervisor is None and not any(entry.start for entry in run.workers):
        return Observation(
            job.ref, job.id, Waiting("its supervisor has not started"), native="prepared", workers=workers
        )
    if not workers or (any(worker.outcome is None for worker in workers) and not _alive(workers)):
        return None  # the supervisor lives and is about to say how it ended, or nothing is known of what it started
    witness = "supervisor" if all(entry.end for entry in run.workers) else "process table"
    return _observation(job, job.id, workers, witness, at)


def _never_started(job: Job, run: Run, at: float) -> Observation:
    """A run that was written down and that nobody is left to start: it failed, and nothing of it ever ran."""
    reason = "never started: the command that should have started it ended first"
    absent = [_worker(job, entry.index, "gone", None, None) for entry in run.workers]
    workers = tuple(replace(worker, outcome=Outcome.FAILED, reason="never started") for worker in absent)
    evidence = (Evidence("run directory", "no supervisor, and no `dogwatch run` left to start one", at),)
    return Observation(
        job.ref, job.id, Ended(Outcome.FAILED, at=at, reason=reason), "never started", reason, evidence, workers
    )


def _kept_worker(job: Job, entry: RunWorker, supervisor_alive: bool) -> Worker:
    start, end, process = entry.start, entry.end, entry.process
    worker = _worker(job, entry.index, "waiting", start, process if end is None else None)
    if start is None:
        if supervisor_alive:
            return worker
        return replace(
            worker, doing="gone", outcome=Outcome.UNKNOWN, reason="its supervisor was killed before starting it"
        )
    if end is not None:
        return _recorded(worker, end, start.error)
    if process is None:
        return worker
    if worker.doing not in ("gone", "zombie") or supervisor_alive:
        return worker
    return _vanished(worker, process, "its supervisor was killed, so its exit code is unknown")


def _recorded(worker: Worker, end: Record, error: str | None) -> Worker:
    """How a worker ended, by the supervisor's record. A bare 137 or SIGKILL is no evidence of lacking memory."""
    code, signum, oom = end.code, end.signal, end.oom or OomEnd()
    ended = replace(worker, doing="gone", ended=end.at, exit_code=code, signal=signum)
    if error:
        return replace(ended, outcome=Outcome.FAILED, reason=f"could not be started: {error}")
    if code == 0:
        return replace(ended, outcome=Outcome.SUCCEEDED, reason="exit code 0")
    # Where the kernel's log can be read it names the pid; the counter is shared by the whole cgroup.
    risen = oom.counter and not oom.log_read
    evidence = oom.kernel_log or ("the oom_kill counter of its cgroup rose" if risen else None)
    if signum == signal.SIGKILL and evidence:
        return replace(ended, outcome=Outcome.OUT_OF_MEMORY, reason=f"killed by the kernel (out of memory): {evidence}")
    return replace(ended, outcome=Outcome.FAILED, reason=how_it_ended(code, signum))


def how_it_ended(code: int | None, signum: int | None) -> str:
    """An exit code or signal in words that claim no more than it shows."""
    if signum == signal.SIGKILL:
        return "killed by SIGKILL; sender and reason unknown"
    if signum is not None:
        return f"killed by {_signal_name(signum)}"
    if code is not None and 128 < code < 192:
        return (
            f"exit code {code}, which programs use for {_signal_name(code - 128)}; a program may also "
            f"exit with that number itself"
        )
    return f"exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _attached(job: Job, processes: Sequence[Process], search: Find | None, at: float) -> Observation | None:
    """Workers that somebody else started: the ones already known, and those found just now."""
    track = tracks.of(job)
    members = _members(track, processes, search)
    if not members:
        want = track.find.want if track.find is not None else None
        problem = search.problem if search is not None else None
        reason = problem or f"no worker yet{f' of {want}' if want else ''}"
        return Observation(job.ref, "", Waiting(reason), native="not found", reason=reason)
    numbers = [member.number for member in members]
    if None in numbers or len(set(numbers)) < len(members):
        numbers = list(range(len(members)))
    workers = [_attached_worker(job, n or 0, member, at) for n, member in zip(numbers, members, strict=True)]
    pid, start, boot = members[0].identity
    attempt = track.attempt or f"{boot}:{pid}:{start}"  # of the first in a list that still grows
    workers.sort(key=lambda worker: worker.index)
    observation = _observation(job, attempt, tuple(workers), "process table", at)
    learnt = structs.replace(
        track,
        attempt=attempt,
        workers=[member.identity for member in members],
        numbers=[member.number for member in members],
        ends={str(i): member.seen for i, member in enumerate(members) if member.seen != WorkerHistory()},
    )
    return observation if learnt == track else replace(observation, track=learnt.to_json())


@dataclass(slots=True)
class _Member:
    """One foreign worker: who it is, what its process does, the number it was given, and what is remembered of it."""

    identity: Who
    process: Process
    number: int | None
    seen: WorkerHistory


def _members(track: ProcessTrack, processes: Sequence[Process], search: Find | None) -> list[_Member]:
    """The workers that are known and those found just now. A process that a later search by name leaves out although it
    is there was a launcher or another's; one that has ended was a worker."""
    ends, numbers = track.ends, track.numbers
    known = [
        _Member(who, process, numbers[i] if i < len(numbers) else None, copy(ends.get(str(i)) or WorkerHistory()))
        for i, (who, process) in enumerate(zip(track.workers, processes, strict=False))
    ]
    if search is None or not search.workers:
        return known
    history = {member.identity: member.seen for member in known}
    given: Sequence[int | None] = search.numbers or [None] * len(search.workers)
    new = [
        _Member(who, process, number, history.get(who) or WorkerHistory())
        for who, process, number in zip(search.workers, search.process, given, strict=False)
    ]
    listed = set(search.workers)
    by_name = search.named is None
    stay = [member for member in known if member.identity not in listed]
    return [*new, *(member for member in stay if not by_name or member.process.doing in ("gone", "zombie"))]


def _attached_worker(job: Job, index: int, member: _Member, at: float) -> Worker:
    process, history = member.process, member.seen
    worker = _worker(job, index, "gone", None, process)
    kills = None if process.oom is None else process.oom.kills
    if worker.doing in ALIVE:
        history.kills = history.kills if kills is None else kills
        history.started = worker.started if history.started is None else history.started
        history.logs = _own_logs(job, process.writes) or history.logs
        return _with_logs(replace(worker, started=history.started), history.logs)
    history.gone_at = at if history.gone_at is None else history.gone_at
    worker = _with_logs(replace(worker, started=history.started, ended=history.gone_at), history.logs)
    if worker.doing == "zombie" and process.exit is not None:
        history.exit_status = process.exit
    if (status := history.exit_status) is not None:
        code, signum = None if status & 0x7F else status >> 8 & 0xFF, status & 0x7F or None
        end = Record(at=history.gone_at, code=code, signal=signum, oom=OomEnd(kernel_log=process.kernel_log))
        return _recorded(worker, end, None)
    if worker.doing == "zombie":
        return replace(
            worker, outcome=Outcome.UNKNOWN, reason="exited (zombie); its parent has not read the exit code yet"
        )
    why = UNWATCHED if process.start == 0 else UNRECORDED
    if kills is not None and history.kills is not None and kills > history.kills:
        why += "; the kernel killed a process in its cgroup at that time (out of memory)"
    return _vanished(worker, process, why)


def _own_logs(job: Job, writes: Sequence[str]) -> list[str]:
    """Of the files that a worker writes, those that were declared as logs."""
    return [path for path in writes if any(fnmatch.fnmatchcase(path, glob) for glob in job.expect.logs)]


def _with_logs(worker: Worker, paths: Sequence[str]) -> Worker:
    """The one with the shortest name is its log; the others are streams of the same worker."""
    logs = tuple(sorted(paths, key=lambda path: (len(path), path)))
    return replace(worker, log=logs[0], logs=logs) if logs else worker


def _vanished(worker: Worker, process: Process, why: str) -> Worker:
    """Gone for certain, with no exit record: unknown, unless the kernel itself says it lacked memory."""
    if process.rebooted:
        return replace(worker, outcome=Outcome.UNKNOWN, reason="the machine was restarted while it ran")
    if process.kernel_log:
        reason = f"killed by the kernel (out of memory): {process.kernel_log}"
        return replace(worker, outcome=Outcome.OUT_OF_MEMORY, signal=int(signal.SIGKILL), reason=reason)
    return replace(worker, outcome=Outcome.UNKNOWN, reason=why)


def _worker(job: Job, index: int, doing: str, start: Record | None, process: Process | None) -> Worker:
    """A worker by its start record and what its process is doing, as far as there is either."""
    track = tracks.of(job)
    gpu = str(track.gpus[index]) if index < len(track.gpus) else None
    log = track.logs[index] if index < len(track.logs) else None
    logs = () if log is None else (log,)
    started = None if start is None else start.at
    if process is None:
        pid = None if start is None else start.pid
        return Worker(index, doing, pid=pid, gpu=gpu, log=log, logs=logs, started=started)
    memory = process.oom
    return Worker(
        index,
        process.doing,
        pid=process.pid,
        gpu=gpu,
        log=log,
        logs=logs,
        started=process.started or started,
        cpu_seconds=process.cpu,
        memory_bytes=process.rss,
        children=process.children,
        memory_used=None if memory is None else memory.used,
        memory_limit=None if memory is None else memory.limit,
        memory_shared=memory is not None and memory.machine,
    )


def _alive(workers: Sequence[Worker]) -> list[Worker]:
    return [worker for worker in workers if worker.doing in ALIVE or worker.doing == "waiting"]


def _observation(job: Job, attempt: str, workers: tuple[Worker, ...], witness: str, at: float) -> Observation:
    """The job as the sum of its workers: running while one is, ended as its worst worker ended."""
    alive = _alive(workers)
    if alive:
        started = min((w.started for w in workers if w.started is not None), default=None)
        says = f"{len(alive)} of {_expected(job.expect, workers)} workers found"
        state: State = Running(since=started, where=job.place)
        native = ", ".join(sorted({w.doing for w in alive}))
        return Observation(job.ref, attempt, state, native, evidence=_evidence(witness, says, at), workers=workers)
    state = _ending(workers, at)
    native = ", ".join(dict.fromkeys(_native(worker) for worker in workers))
    evidence = (Evidence(witness, _tally(workers), at),)
    return Observation(job.ref, attempt, state, native, state.reason, evidence, workers)


@lru_cache(maxsize=64)
def _evidence(witness: str, says: str, at: float) -> tuple[Evidence]:
    """One for all jobs of which a poll says the same: what is written of it is put into words once."""
    return (Evidence(witness, says, at),)


def _ending(workers: Sequence[Worker], at: float) -> Ended:
    """As the worst worker ended; of several, as the first of them did."""
    worst = min(workers, key=_how_bad)
    outcome = Outcome(worst.outcome or Outcome.UNKNOWN)
    ended = max((w.ended for w in workers if w.ended is not None), default=at)
    reason = worst.reason if len(workers) == 1 else f"worker {worst.index}: {worst.reason}"
    if outcome is Outcome.SUCCEEDED:
        reason = ""
    elif {(worker.ended, worker.reason) for worker in workers} == {(worst.ended, UNRECORDED)} and len(workers) > 1:
        reason = f"{len(workers)} workers exited; exit codes unknown (not started by `dogwatch run`)"
    return Ended(outcome, worst.exit_code, worst.signal, ended, reason)


def _how_bad(worker: Worker) -> tuple[int, float]:
    rank = WORST_FIRST.index(Outcome(worker.outcome or Outcome.UNKNOWN))
    return rank, worker.ended if worker.ended is not None else float("inf")


def _expected(expect: Expectation, workers: Sequence[Worker]) -> int:
    return max(expect.workers or 0, len(workers))


def _native(worker: Worker) -> str:
    if worker.signal is not None:
        return f"signal {worker.signal}"
    if worker.exit_code is not None:
        return f"exit {worker.exit_code}"
    return worker.doing


def _tally(workers: Sequence[Worker]) -> str:
    """`4 workers: exit 0` or `3 workers: exit 0; 1 worker: signal 9`."""
    counts: dict[str, int] = {}
    for worker in workers:
        counts[_native(worker)] = counts.get(_native(worker), 0) + 1
    return "; ".join(f"{n} worker{'s' if n > 1 else ''}: {how}" for how, n in counts.items())
