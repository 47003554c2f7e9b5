"""The launch: the first minute of an attempt. Each check that shows that the attempt has begun is recorded with its
time. When the time is over, or a worker ends at once, the failed checks are reported, with the worker and the cause."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.clock import recorded
from dogwatch.model import Ended, Gpu, GpuPast, Job, Known, Outcome, Running, Worker
from dogwatch.model.gpu import Stray
from dogwatch.model.outcome import GOOD
from dogwatch.rules.interface import LostWorker
from dogwatch.store.rows.tick import Event
from dogwatch.watcher.job.folders import directories
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer
from dogwatch.watcher.job.state.launch import LaunchRecord

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument
    from dogwatch.wire.documents.job import LaunchCheckDocument, LaunchDocument
    from dogwatch.wire.documents.watch import EventBody

WORKERS, LOGS, DIRECTORY, GPUS, USE = "workers", "logs", "output directory", "gpus", "gpu use"
OUTPUT, STEP = "first output", "first step"
# What a launch is verified by; the first output and step are waited for, and a launch is none the worse without.
PROVES = (WORKERS, GPUS, USE, LOGS, DIRECTORY)
ORDER = (WORKERS, GPUS, USE, LOGS, DIRECTORY, OUTPUT, STEP)
VERIFYING, VERIFIED, UNPROVEN, FAILED, UNSEEN = "verifying", "verified", "unproven", "failed", "unseen"
GPU_WAIT = 15.0  # seconds to wait for the first reading of its GPUs, which may never come
LOST = ("gone", "zombie")
PRECISE = 1.0  # seconds between two polls above which a time is reported as "within"
FINE = (*GOOD, Outcome.CANCELLED, Outcome.INCOMPLETE)  # it did start

Why = Callable[[Worker], "DiagnosisDocument | None"]


@dataclass(frozen=True, slots=True)
class LaunchEvidence:
    """What one poll shows of a job that has begun: its workers, the sizes of its logs, whether its output directories
    take files, what it has written since, and its GPUs as far as they were read; `strays` is None where they were
    not."""

    workers: Sequence[Worker]
    logs: Mapping[str, int]
    writable: Mapping[str, bool]
    output: bool
    step: bool
    gpus: Sequence[Gpu] = ()
    strays: Sequence[Stray] | None = None
    step_age: float | None = None  # how long ago the first step was, by the log's own times


@dataclass(frozen=True, slots=True)
class LaunchCheck:
    """One check of a launch: passed, failed, or None while it has not been seen yet; `text` says what is missing."""

    what: str
    ok: bool | None
    text: str = ""


def launch_evidence(
    job: Job,
    memory: Memory,
    workers: Sequence[Worker],
    probe_answer: ProbeAnswer,
    began: float | None,
    progress: object,
    gpus: Sequence[Gpu],
    past: GpuPast | None,
    step_age: float | None = None,
) -> LaunchEvidence:
    """The evidence of one poll. An output counts if it was written since the launch, within a second of the clock."""
    files = probe_answer.files.get(job.ref)
    since = float("-inf") if began is None else began - 1.0
    disks = [(path, probe_answer.disks.get(path)) for path in directories(job.expect.outputs)]
    return LaunchEvidence(
        workers=workers,
        logs={path: cursor.offset for path, cursor in memory.log.cursors.items()},
        writable={path: disk.writable for path, disk in disks if disk is not None},
        output=files is not None and any(row.size and row.mtime >= since for row in files.outputs),
        step=progress is not None,
        gpus=gpus,
        strays=None if past is None else past.strays,
        step_age=step_age,
    )


def advance(
    memory: Memory, job: Job, known: Known, evidence: LaunchEvidence, began: float | None, at: float, why: Why
) -> list[Event]:
    """Add what this poll shows to the record of the launch; returns the events that follow from it, each once."""
    if began is None or not isinstance(known.state, Running | Ended):
        return []
    record = memory.launch.record
    if record is None:
        record = memory.launch.record = _record(job, began, memory.age, at)
        if record["state"] == UNSEEN:
            memory.launch.verified = True
            return _there_already(job, evidence) if isinstance(known.state, Running) else []
    took = round(record["lead"] + memory.age - record["age"], 1)
    checks = list(read(job, evidence, took, memory.facts.logs))
    for check in checks:
        if check.ok and check.what not in record["seconds"]:
            # Between two polls it may have come at any moment, so the whole time between them is reported.
            passed = max(took, round(record["lead"] + at - record.get("at", at), 1))
            record["seconds"][check.what], exact = _when(check.what, evidence, passed)
            if not exact and passed - record.get("lacked", {}).get(check.what, 0.0) > PRECISE:
                record.setdefault("within", []).append(check.what)
    lacking = [check.what for check in checks if not check.ok] + ([STEP] if evidence.logs and not evidence.step else [])
    record["lacked"] = {**record.get("lacked", {}), **dict.fromkeys(lacking, took)}
    if memory.launch.verified and (record["state"] != UNPROVEN or any(_lacks(check) for check in checks)):
        return []
    state, events = _concluded(job, known, record, checks, evidence, took, why)
    record["state"], memory.launch.verified = state, state != VERIFYING
    record["lacks"] = {check.what: check.text for check in checks if not check.ok and check.text}
    return events


def is_open(memory: Memory) -> bool:
    """Whether a poll may still add something to the record."""
    launch = memory.launch.record
    return not memory.launch.verified or (launch is not None and launch["state"] != UNSEEN and not _complete(launch))


def lost_worker(memory: Memory) -> LostWorker | None:
    """The worker that the launch failed for, if it did."""
    record = memory.launch.record
    return None if record is None or "why" not in record else LostWorker(record.get("worker"), record["why"])


def document(memory: Memory) -> LaunchDocument | None:
    """The record as every interface prints it; None before it has begun."""
    launch = memory.launch.record
    if launch is None:
        return None
    lacks: Mapping[str, str] = launch.get("lacks") or {}
    checks: list[LaunchCheckDocument] = [
        {
            "what": what,
            "ok": what in launch["seconds"],
            "seconds": launch["seconds"].get(what),
            "within": what in (launch.get("within") or ()),
            "text": None if what in launch["seconds"] else lacks[what],
        }
        for what in ORDER
        if what in launch["seconds"] or what in lacks
    ]
    return {
        "state": launch["state"],
        "began": recorded(launch["began"]),
        "timeout_seconds": launch["timeout"],
        "text": launch.get("text"),
        "checks": checks,
    }


def read(job: Job, evidence: LaunchEvidence, took: float, named: Sequence[str] = ()) -> Iterator[LaunchCheck]:
    """The checks that apply to this job, each by the evidence of this poll alone."""
    yield _workers(job, evidence.workers)
    given = [worker for worker in evidence.workers if worker.gpu]
    if given and evidence.strays is not None:
        yield _placed(evidence)
        yield _used(evidence)
    elif given and took < GPU_WAIT:
        yield LaunchCheck(GPUS, None)
    wanted = tuple(job.track.get("logs") or ()) or job.expect.logs or tuple(named)
    if wanted:
        yield _logs(wanted, evidence)
    if job.expect.outputs:
        yield _directory(job, evidence)
        yield LaunchCheck(
            OUTPUT, evidence.output or None, "" if evidence.output else "no output file has been written yet"
        )
    if evidence.step:
        yield LaunchCheck(STEP, True)


def _record(job: Job, began: float, age: float, at: float) -> LaunchRecord:
    """A launch that is watched from its beginning; one that was over before anybody looked is not judged. The seconds
    are those of our own clock, after the one comparison with the place's."""
    lead, timeout = max(0.0, at - began), job.expect.launch_timeout
    state = UNSEEN if lead > timeout else VERIFYING
    return LaunchRecord(began=began, at=at, lead=lead, age=age, timeout=timeout, seconds={}, state=state, lacks={})


def _there_already(job: Job, evidence: LaunchEvidence) -> list[Event]:
    want = job.expect.workers
    if want is None or sum(worker.started is not None for worker in evidence.workers) < want:
        return []
    text = "it was running already" if want == 1 else f"all {want} workers were running already"
    return [Event("launch.verified", text, ref=job.ref, body={"seconds": {}, "missing": []})]


def _concluded(
    job: Job,
    known: Known,
    record: LaunchRecord,
    checks: Sequence[LaunchCheck],
    evidence: LaunchEvidence,
    took: float,
    why: Why,
) -> tuple[str, list[Event]]:
    """The state of the launch after this poll, and what is said when that is the last of it."""
    workers = next(check for check in checks if check.what == WORKERS)
    missing = [check.what for check in checks if _lacks(check)]
    ended = known.state if isinstance(known.state, Ended) else None
    fine = known.outcome in FINE
    died = not fine and (workers.ok is False or ended is not None)
    if ended is not None and known.outcome is None:
        return VERIFYING, []
    if ended is None and missing and not died and took < record["timeout"]:
        return VERIFYING, []
    if died and _lasted(evidence.workers, ended, record) > record["timeout"]:
        return UNSEEN, []  # it lived through its first minute, and nobody was there to see it
    body: EventBody = {"seconds": dict(record["seconds"]), "missing": missing}
    if died or (WORKERS in missing and not fine):
        record["text"], more = _failure(workers, evidence.workers, known, took, why)
        record["worker"], record["why"] = more["worker"], more.pop("why", "")
        return FAILED, [Event("launch.failed", record["text"], ref=job.ref, level="critical", body=body | more)]
    if missing and ended is None:
        lacks = "; ".join(check.text for check in checks if check.what in missing and check.text)
        record["text"] = f"after {took:.0f} s {lacks}"
        return UNPROVEN, [Event("launch.unproven", record["text"], ref=job.ref, level="warning", body=body)]
    record["text"] = _told(job, record)
    return VERIFIED, [Event("launch.verified", record["text"], ref=job.ref, body=body)]


def _lasted(workers: Sequence[Worker], ended: Ended | None, record: LaunchRecord) -> float:
    """How long after its start the first one ended; nothing where nobody recorded when."""
    ends = [worker.ended for worker in workers if _is_lost(worker) and worker.ended is not None]
    if not ends and ended is not None and ended.at is not None:
        ends = [ended.at]
    return min(ends, default=float("-inf")) - float(record["began"])


def _told(job: Job, record: LaunchRecord) -> str:
    seconds: Mapping[str, float] = record["seconds"]
    count = job.expect.workers or 1
    text = f"all {count} workers started" if count > 1 else "it started"
    bound = record.get("within") or ()
    parts = [
        f"{what} {'within' if what in bound else 'after'} {seconds[what]:g} s" for what in ORDER[1:] if what in seconds
    ]
    return text + (f" ({', '.join(parts)})" if parts else "")


def _failure(
    workers: LaunchCheck, there: Sequence[Worker], known: Known, took: float, why: Why
) -> tuple[str, EventBody]:
    """Which worker, how, and the likeliest cause with the line that shows it."""
    lost = min((worker for worker in there if _is_lost(worker)), key=_ended_at, default=None)
    if lost is None:
        text = workers.text if not workers.ok else ""
        how = known.why or known.state.reason or str(known.outcome) if isinstance(known.state, Ended) else ""
        reason = f"it ended after {took:.0f} s: {how}" if how else ""
        return text or reason, {"worker": None}
    span = lost.ended - lost.started if lost.ended is not None and lost.started is not None else took
    one = f"worker {lost.index}" if len(there) > 1 else "it"
    early = f" {max(0.0, span):.0f} s after its start" if lost.started is not None else ""
    text = f"{one} ended{early}: {lost.reason}"
    cause = why(lost)
    if cause is None or cause["cause"] == "unknown":
        return text, {"worker": lost.index}
    if cause["title"] in lost.reason:
        return text, {"worker": lost.index, "diagnosis": cause}
    quote = next((one for one in cause["evidence"] if one["line"] is not None), None)
    where = f" ({os.path.basename(quote['file'])}:{quote['line']}: {quote['text']})" if quote is not None else ""
    likely = f"likely {cause['cause']}: {cause['title']}{where}"
    return f"{text}; {likely}", {"worker": lost.index, "why": likely, "diagnosis": cause}


def _lacks(check: LaunchCheck) -> bool:
    return check.what in PROVES and not check.ok


def _is_lost(worker: Worker) -> bool:
    """Whether it ended otherwise than well; one that had done its share has most likely just finished."""
    if worker.doing not in LOST or worker.outcome is None or worker.outcome == Outcome.SUCCEEDED:
        return False
    return worker.outcome != Outcome.UNKNOWN or worker.short is not False


def _ended_at(worker: Worker) -> float:
    return worker.ended if worker.ended is not None else float("inf")


def _workers(job: Job, workers: Sequence[Worker]) -> LaunchCheck:
    """All there, or one lost; a job that has no processes here is judged by its state."""
    if any(_is_lost(worker) for worker in workers):
        return LaunchCheck(WORKERS, False, "a worker has ended")
    want = job.expect.workers or len(workers)
    there = {worker.index for worker in workers if worker.started is not None or worker.pid is not None}
    if len(there) >= want:
        return LaunchCheck(WORKERS, True)
    lacking = [str(index) for index in range(want) if index not in there]
    some = ", ".join(lacking[:16]) + (" …" if len(lacking) > 16 else "")
    return LaunchCheck(WORKERS, None, f"only {len(there)} of {want} workers started (missing: {some})")


def _logs(wanted: Sequence[str], evidence: LaunchEvidence) -> LaunchCheck:
    """Every log that has a name of its own, and of a pattern at least one, holds something."""
    patterns = [path for path in wanted if any(mark in path for mark in "*?[")]
    silent = [path for path in wanted if path not in patterns and not evidence.logs.get(path)]
    if patterns and not any(evidence.logs.values()):
        silent.append(patterns[0])
    if not silent:
        return LaunchCheck(LOGS, True)
    absent = [path for path in silent if path not in evidence.logs]
    word = "is not there" if absent else "is empty"
    more = f" (and {len(silent) - 1} more)" if len(silent) > 1 else ""
    return LaunchCheck(LOGS, None, f"the log {os.path.basename((absent or silent)[0])} {word}{more}")


def _directory(job: Job, evidence: LaunchEvidence) -> LaunchCheck:
    closed = [path for path in directories(job.expect.outputs) if evidence.writable.get(path) is False]
    if evidence.output:
        return LaunchCheck(DIRECTORY, True)
    if closed:
        return LaunchCheck(DIRECTORY, False, f"{closed[0]} cannot be written to by the user who watches")
    proven = all(path in evidence.writable for path in directories(job.expect.outputs))
    return LaunchCheck(
        DIRECTORY, proven or None, "" if proven else "cannot tell whether its output directory is writable"
    )


def _placed(evidence: LaunchEvidence) -> LaunchCheck:
    for stray in evidence.strays or ():
        where = "a GPU that is not there" if stray.gpu is None else f"GPU {stray.gpu} instead of"
        return LaunchCheck(GPUS, False, f"worker {stray.worker} is on {where} {stray.given}")
    on = any(process.ours for gpu in evidence.gpus for process in gpu.processes)
    return LaunchCheck(GPUS, on or None, "" if on else "none of its processes is on its GPUs")


def _used(evidence: LaunchEvidence) -> LaunchCheck:
    used = any(gpu.used for gpu in evidence.gpus)
    return LaunchCheck(USE, used or None, "" if used else "its GPUs do nothing")


def _when(what: str, evidence: LaunchEvidence, took: float) -> tuple[float, bool]:
    """After how many seconds it came, and whether that is its own time: workers say when they started, and a log with
    times when its first step was; of the rest, when it was first seen."""
    starts = [worker.started for worker in evidence.workers if worker.started is not None]
    if what == WORKERS:
        return (round(max(starts) - min(starts), 1) if starts else 0.0), True
    if what == STEP and evidence.step_age:
        return round(max(0.0, took - evidence.step_age), 1), True
    return took, False


def _complete(launch: LaunchRecord) -> bool:
    return all(what in launch["seconds"] for what in (launch.get("lacks") or {}))
