"""Jobs that are processes: kept runs of our own, and workers that somebody else started.

A job's `track` is one of
    {"run": directory}                               a run under the supervisor
    {"find": {...}, "workers": [[pid, start, boot]]}  others' workers: found ones, and how to find the rest
A process is (boot id, pid, start time); a reused pid is somebody else. A worker that vanished
without a record has ended, and nobody knows how: that is never success.
"""

from __future__ import annotations

import fnmatch
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dogwatch.model import (
    Ended,
    Evidence,
    Expectation,
    Facts,
    Job,
    Known,
    Observation,
    Outcome,
    RareFacts,
    Running,
    Waiting,
    Worker,
)
from dogwatch.model.state import State
from dogwatch.sources.interface import Kind, SourcePlugin

ALIVE = frozenset({"running", "sleeping", "stopped", "uninterruptible", "hidden"})
RECORD_PATIENCE = 30.0  # a supervisor writes its record at once, unless the disk is full or it is stopped
UNRECORDED = "exit code unknown (not started by `dogwatch run`)"
UNWATCHED = "it exited before it was watched; exit code unknown"
PROCESS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
WORST_FIRST = (Outcome.OUT_OF_MEMORY, Outcome.FAILED, Outcome.UNKNOWN, Outcome.SUCCEEDED)


class ProcessSource:
    """See the module: one question about all runs, pids and names; one observation per job."""

    kind = "process"
    section = "process"

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> dict[str, Any]:
        runs, pids, find = {}, {}, {}
        for job in jobs:
            if "run" in job.track:
                runs[job.ref] = job.track["run"]
                continue
            if job.track.get("workers"):
                pids[job.ref] = job.track["workers"]
            if "find" in job.track and _still_gathering(job, known.get(job.ref, Known()), at):
                find[job.ref] = job.track["find"]
        return {"runs": runs, "pids": pids, "find": find}

    def read(
        self, answer: Mapping[str, Any], jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        asked, observations = set(), {}
        for job in jobs:
            observation: Observation | None
            if "run" in job.track:
                run = answer["runs"].get(job.ref)
                if run is None or run.get("problem") or run.get("supervisor_alive") is None:
                    continue
                observation = _kept(job, run, at)
                if observation is None and _just_seen(known.get(job.ref, Known()), at):
                    continue
            else:
                found = answer["find"].get(job.ref) or {}
                observation = _attached(job, answer["pids"].get(job.ref) or [], found, at)
            asked.add(job.ref)
            if observation is not None:
                observations[job.ref] = observation
        return frozenset(asked), observations

    def also_ask(
        self,
        jobs: Sequence[Job],
        known: Mapping[str, Known],
        facts: Mapping[str, Facts],
        rare: Mapping[str, RareFacts],
        turn: int,
    ) -> dict[str, Any]:
        return {}

    def also_read(
        self, body: Mapping[str, Any], jobs: Sequence[Job], facts: Mapping[str, Facts], rare: Mapping[str, RareFacts]
    ) -> Mapping[str, RareFacts]:
        return {}

    def trouble(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> str | None:
        return None  # a process table that answers at all answers for every process

    def blind(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> dict[str, str]:
        found = {job.ref: answer["runs"].get(job.ref) or {} for job in jobs if "run" in job.track}
        return {
            ref: str(run.get("problem") or "the records of the run could not be read")
            for ref, run in found.items()
            if run.get("problem") or run.get("supervisor_alive") is None
        }


class ProcessKind(Kind):
    """Jobs that are processes of the machine that is polled."""

    id_example = "a process id"

    def runs_on(self, facts: Facts, host: str) -> bool:
        return True

    def has_log_of_its_own(self, track: Mapping[str, Any]) -> bool:
        return "run" in track

    def registered_id(self, text: str) -> str | None:
        return text if PROCESS_ID.fullmatch(text) else None


source = ProcessSource()
PLUGIN = SourcePlugin("process", "processes of a machine", lambda: source)
KIND = ProcessKind("process")


def _still_gathering(job: Job, known: Known, at: float) -> bool:
    """Whether to go on looking for workers: until all are there, and not long after the first came,
    lest an unrelated process of the same name is taken for one of them next week."""
    have, want = len(job.track.get("workers") or ()), job.track["find"].get("want")
    if not have:
        return True
    if want is None or have >= want:
        return False
    return known.since is None or at - known.since <= job.expect.launch_timeout


def _just_seen(known: Known, at: float) -> bool:
    """Whether a supervisor that has not written down an ending may still be about to."""
    return known.confirmed_at is not None and 0 <= at - known.confirmed_at < RECORD_PATIENCE


def _kept(job: Job, run: Mapping[str, Any], at: float) -> Observation | None:
    """A run under the supervisor, by its records; None when it is between its end and its record."""
    if run.get("abandoned"):
        return _never_started(job, run, at)
    supervisor_alive = bool(run.get("supervisor_alive"))
    workers = tuple(_kept_worker(job, entry, supervisor_alive) for entry in run["workers"])
    if run.get("supervisor") is None and not any(entry.get("start") for entry in run["workers"]):
        return Observation(
            job.ref, job.id, Waiting("its supervisor has not started"), native="prepared", workers=workers
        )
    if not workers or (any(worker.outcome is None for worker in workers) and not _alive(workers)):
        return None  # the supervisor lives and is about to say how it ended, or nothing is known of what it started
    witness = "supervisor" if all(entry.get("end") for entry in run["workers"]) else "process table"
    return _observation(job, job.id, workers, witness, at)


def _never_started(job: Job, run: Mapping[str, Any], at: float) -> Observation:
    """A run that was written down and that nobody is left to start: it failed, and nothing of it ever ran."""
    reason = "never started: the command that should have started it ended first"
    absent = [_worker(job, int(entry["index"]), "gone", None, None) for entry in run["workers"]]
    workers = tuple(replace(one, outcome=Outcome.FAILED, reason="never started") for one in absent)
    evidence = (Evidence("run directory", "no supervisor, and no `dogwatch run` left to start one", at),)
    return Observation(
        job.ref, job.id, Ended(Outcome.FAILED, at=at, reason=reason), "never started", reason, evidence, workers
    )


def _kept_worker(job: Job, entry: Mapping[str, Any], supervisor_alive: bool) -> Worker:
    start, end, process = entry.get("start"), entry.get("end"), entry.get("process")
    worker = _worker(job, int(entry["index"]), "waiting", start, process if end is None else None)
    if start is None:
        if supervisor_alive:
            return worker
        return replace(
            worker, doing="gone", outcome=Outcome.UNKNOWN, reason="its supervisor was killed before starting it"
        )
    if end is not None:
        return _recorded(worker, end, start.get("error"))
    if process is None:
        return worker
    if worker.doing not in ("gone", "zombie") or supervisor_alive:
        return worker
    return _vanished(worker, process, "its supervisor was killed, so its exit code is unknown")


def _recorded(worker: Worker, end: Mapping[str, Any], error: str | None) -> Worker:
    """How a worker ended, by the supervisor's record. A bare 137 or SIGKILL is no evidence of lacking memory."""
    code, signum, oom = end.get("code"), end.get("signal"), end.get("oom") or {}
    ended = replace(worker, doing="gone", ended=end.get("at"), exit_code=code, signal=signum)
    if error:
        return replace(ended, outcome=Outcome.FAILED, reason=f"could not be started: {error}")
    if code == 0:
        return replace(ended, outcome=Outcome.SUCCEEDED, reason="exit code 0")
    # Where the kernel's log can be read it names the pid; the counter is shared by the whole cgroup.
    risen = oom.get("counter") and not oom.get("log_read")
    evidence = oom.get("kernel_log") or ("the oom_kill counter of its cgroup rose" if risen else None)
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


def _attached(
    job: Job, processes: Sequence[Mapping[str, Any]], found: Mapping[str, Any], at: float
) -> Observation | None:
    """Workers that somebody else started: the ones already known, and those found just now."""
    workers_at_end = _gathered(job, processes, found)
    if not workers_at_end:
        want = job.track.get("find", {}).get("want")
        reason = found.get("problem") or f"no worker yet{f' of {want}' if want else ''}"
        return Observation(job.ref, "", Waiting(reason), native="not found", reason=reason)
    numbers = [one.number for one in workers_at_end]
    if None in numbers or len(set(numbers)) < len(workers_at_end):
        numbers = list(range(len(workers_at_end)))
    workers = tuple(_attached_worker(job, n or 0, one, at) for n, one in zip(numbers, workers_at_end, strict=True))
    pid, start, boot = workers_at_end[0].identity
    attempt = str(job.track.get("attempt") or f"{boot}:{pid}:{start}")  # whoever comes first in a list that still grows
    observation = _observation(job, attempt, tuple(sorted(workers, key=lambda one: one.index)), "process table", at)
    track = {
        **job.track,
        "attempt": attempt,
        "workers": [one.identity for one in workers_at_end],
        "numbers": [one.number for one in workers_at_end],
        "ends": {str(i): one.kept for i, one in enumerate(workers_at_end) if one.kept},
    }
    return observation if track == job.track else replace(observation, track=track)


@dataclass(slots=True)
class _Member:
    """One foreign worker: who it is, what its process does, the number it was given, and what is remembered of it: when
    it started, what it showed as a zombie, the memory kills counted while it lived, and when it was first seen gone."""

    identity: list[Any]
    process: Mapping[str, Any]
    number: int | None
    kept: dict[str, Any]


def _gathered(job: Job, processes: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> list[_Member]:
    """Who is known and who was found just now. A process that a later search by name leaves out although it is there
    was a launcher or another's; one that has ended was a worker."""
    ends, numbers = job.track.get("ends") or {}, job.track.get("numbers") or ()
    known = [
        _Member(list(identity), process, numbers[i] if i < len(numbers) else None, dict(ends.get(str(i)) or {}))
        for i, (identity, process) in enumerate(zip(job.track.get("workers") or (), processes, strict=False))
    ]
    before = {tuple(one.identity): one for one in known}
    told = found.get("numbers") or [None] * len(found.get("workers") or ())
    new = []
    for identity, process, number in zip(found.get("workers") or (), found.get("process") or (), told, strict=False):
        old = before.get(tuple(identity))
        new.append(_Member(list(identity), process, number, old.kept if old is not None else {}))
    if not new:
        return known
    listed = {tuple(one.identity) for one in new}
    by_name = found.get("named") is None
    stay = [one for one in known if tuple(one.identity) not in listed]
    return [*new, *(one for one in stay if not by_name or one.process.get("doing") in ("gone", "zombie"))]


def _attached_worker(job: Job, index: int, member: _Member, at: float) -> Worker:
    process, kept = member.process, member.kept
    worker = _worker(job, index, "gone", None, process)
    kills = (process.get("oom") or {}).get("kills")
    if worker.doing in ALIVE:
        if kills is not None:
            kept["kills"] = kills
        if worker.started is not None:
            kept.setdefault("started", worker.started)
        if logs := _own_logs(job, process.get("writes") or ()):
            kept["logs"] = logs
        return _with_logs(replace(worker, started=kept.get("started")), kept)
    kept.setdefault("at", at)
    worker = _with_logs(replace(worker, started=kept.get("started"), ended=kept["at"]), kept)
    if worker.doing == "zombie" and process.get("exit") is not None:
        status = int(process["exit"])
        kept |= {"code": None if status & 0x7F else status >> 8 & 0xFF, "signal": status & 0x7F or None}
    if "code" in kept:
        return _recorded(worker, {**kept, "oom": {"kernel_log": process.get("kernel_log")}}, None)
    if worker.doing == "zombie":
        return replace(
            worker, outcome=Outcome.UNKNOWN, reason="exited (zombie); its parent has not read the exit code yet"
        )
    why = UNWATCHED if process.get("start") == 0 else UNRECORDED
    if kills is not None and kills > kept.get("kills", kills):
        why += "; the kernel killed a process in its cgroup meanwhile (out of memory)"
    return _vanished(worker, process, why)


def _own_logs(job: Job, writes: Sequence[str]) -> list[str]:
    """Of the files that a worker writes, those that were declared as logs."""
    return [path for path in writes if any(fnmatch.fnmatchcase(path, glob) for glob in job.expect.logs)]


def _with_logs(worker: Worker, kept: Mapping[str, Any]) -> Worker:
    """The one with the shortest name is its log; the others are streams of the same worker."""
    logs = tuple(sorted(kept.get("logs") or (), key=lambda path: (len(path), path)))
    return replace(worker, log=logs[0], logs=logs) if logs else worker


def _vanished(worker: Worker, process: Mapping[str, Any], why: str) -> Worker:
    """Gone for certain, with no exit record: unknown, unless the kernel itself says it lacked memory."""
    if process.get("rebooted"):
        return replace(worker, outcome=Outcome.UNKNOWN, reason="the machine was restarted while it ran")
    if process.get("kernel_log"):
        reason = f"killed by the kernel (out of memory): {process['kernel_log']}"
        return replace(worker, outcome=Outcome.OUT_OF_MEMORY, signal=int(signal.SIGKILL), reason=reason)
    return replace(worker, outcome=Outcome.UNKNOWN, reason=why)


def _worker(
    job: Job, index: int, doing: str, start: Mapping[str, Any] | None, process: Mapping[str, Any] | None
) -> Worker:
    """A worker by its start record and what its process is doing, as far as there is either."""
    start, process = start or {}, process or {}
    memory = process.get("oom") or {}
    return Worker(
        index=index,
        doing=process.get("doing", doing),
        pid=process.get("pid", start.get("pid")),
        gpu=_gpu_of(job, index),
        log=_log_of(job, index),
        started=process.get("started") or start.get("at"),
        cpu_seconds=process.get("cpu"),
        memory_bytes=process.get("rss"),
        children=process.get("children"),
        memory_used=memory.get("used"),
        memory_limit=memory.get("limit"),
        memory_shared=bool(memory.get("machine")),
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


def _log_of(job: Job, index: int) -> str | None:
    logs = job.track.get("logs") or ()
    return logs[index] if index < len(logs) else None


def _gpu_of(job: Job, index: int) -> str | None:
    gpus = job.track.get("gpus") or ()
    return str(gpus[index]) if index < len(gpus) else None
