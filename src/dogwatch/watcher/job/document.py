"""What is known of a job, in the plain values that every interface prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dogwatch.clock import recorded, stamp
from dogwatch.model import Eta, Facts, Job, Known, Progress, Verdict, Worker
from dogwatch.model.time_limit import limit_to_ask, spelled
from dogwatch.rules.interface import Disk
from dogwatch.text import plain
from dogwatch.watcher.job import attempts, launch
from dogwatch.watcher.job.artifact_document import checkpoints_document, disks_document, outputs_document
from dogwatch.watcher.job.final_checks import NOT_ENDED, Final
from dogwatch.watcher.job.gpus import gpu_percent, gpus_document
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.resources import document as spent_document
from dogwatch.watcher.job.stall import verdict_document
from dogwatch.watcher.job.state.workers import cpu_percent
from dogwatch.wire.documents.facts import efficiency_document, site_documents, tasks_document

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument
    from dogwatch.wire.documents.job import DetailDocument, EtaDocument, ProgressDocument
    from dogwatch.wire.documents.machine import WorkerDocument

NAME = 80

# A worker shows no rate after this much silence, and so many times the longest of the gaps that are remembered of it.
STANDS_AFTER, STANDS_GAPS = 60.0, 3.0


def progress_document(progress: Progress | None) -> ProgressDocument | None:
    if progress is None:
        return None
    return {
        "step": _whole(progress.step),
        "total": _whole(progress.total),
        "unit": progress.unit,
        "fraction": progress.fraction,
        "rate": progress.rate,
        "rate_average": progress.rate_average,
        "at": recorded(progress.at),
    }


def eta_document(eta: Eta | None, at: float) -> EtaDocument | None:
    if eta is None:
        return None
    return {
        "remaining_seconds": round(eta.remaining, 1),
        "low_seconds": round(eta.low, 1),
        "high_seconds": round(eta.high, 1),
        "confidence": eta.confidence,
        "at": stamp(at + eta.remaining),
        "low_at": stamp(at + eta.low),
        "high_at": stamp(at + eta.high),
    }


def detail_document(
    memory: Memory,
    workers: list[WorkerDocument],
    disks: Mapping[str, Disk],
    final: Final,
    verdict: Verdict | None,
    at: float,
    gone_in: Mapping[tuple[str, str], float] | None = None,
    skew: float = 0.0,
    no_eta: str = "",
    known: Known | None = None,
) -> DetailDocument:
    """The parts of a job document that only its own page needs."""
    facts, learnt = memory.facts, memory.learnt
    return {
        "no_eta_reason": no_eta or None,
        "verdict": verdict_document(verdict),
        "workers": workers,
        "outputs": outputs_document(memory),
        "outputs_missing": memory.produced.missing,
        "checkpoints": checkpoints_document(memory, at, skew, ended=final is not NOT_ENDED),
        "disks": disks_document(disks, gone_in or {}),
        "gpus": gpus_document(memory.gpu),
        "launch": launch.document(memory),
        "history": attempts.document(memory, known),
        "verified": None if final.verified is None else {"ok": final.verified.ok, "text": final.verified.text},
        "checks": [{"what": check.what, "word": check.word, "text": check.text} for check in final.checks],
        "spent": spent_document(memory.spent, memory.age),
        "tasks": tasks_document(facts.tasks),
        "efficiency": efficiency_document(facts.efficiency, memory.learnt.gpu_summary),
        "expected_start": stamp(facts.expected_start),
        "time_limit_at": stamp(facts.time_limit_at),
        "time_limit_seconds": facts.limit_seconds,
        "nodes": facts.nodes or None,
        "scores": learnt.scores or [],
        "folders": [{"path": path, "real": real} for path, real in sorted((learnt.real or {}).items())],
        "logs": [*facts.logs, *(learnt.script_logs or ())],
        "stdout": next(iter(facts.logs), None) or facts.stdout or None,
        **site_documents(facts),
    }


def with_limit(facts: Facts, progress: Progress | None) -> Facts:
    """With the time limit to ask for by how far it came; of an array nobody can tell, whose tasks have a limit each."""
    used = facts.efficiency
    if used is None or not used.exceeded or facts.tasks or progress is None or progress.fraction is None:
        return facts
    ask = limit_to_ask(used.limit_seconds, used.wall_seconds, progress.fraction)
    return replace(facts, efficiency=replace(used, ask_for_seconds=ask))


def with_advice(diagnosis: DiagnosisDocument | None, facts: Facts) -> DiagnosisDocument | None:
    """With the limit that is to be asked for, where a time limit was the cause."""
    ask = None if facts.efficiency is None else facts.efficiency.ask_for_seconds
    if diagnosis is None or diagnosis.get("cause") != "time_limit" or ask is None:
        return diagnosis
    told = [str(text) for text in diagnosis.get("advice") or ()]
    words = f"ask for a time limit of {spelled(ask)}, or resume from the newest checkpoint in a chain of jobs"
    return {**diagnosis, "advice": [words, *told[1:]]}


def worker_document(worker: Worker, memory: Memory, at: float, mono: float) -> WorkerDocument:
    """A worker's row."""
    key = str(worker.index)
    step = memory.workers.steps.get(key)
    until = worker.ended if worker.ended is not None else at
    return {
        "index": worker.index,
        "pid": worker.pid,
        "doing": worker.doing,
        "gpu": worker.gpu,
        "gpu_percent": gpu_percent(memory.gpu.gpus or (), worker.gpu),
        "cpu_percent": cpu_percent(memory.workers, key, worker.cpu_seconds, mono),
        "memory_bytes": worker.memory_bytes,
        "children": worker.children,
        "uptime_seconds": None if worker.started is None else round(max(0.0, until - worker.started), 1),
        "rate": None if step is None or len(step) < 3 or _stands(worker, memory, mono) else step[2],
        "step": None if step is None else _whole(step[1]),
        "exit_code": worker.exit_code,
        "signal": worker.signal,
        "outcome": worker.outcome,
        "reason": worker.reason,
        "log": worker.log,
        "logs": list(worker.logs),
    }


def _stands(worker: Worker, memory: Memory, mono: float) -> bool:
    """Whether a worker does not count any more: it is gone or stopped, or has let the time pass in which it moved
    several times before."""
    if worker.doing in ("gone", "zombie", "stopped"):
        return True
    points = memory.workers.points.get(str(worker.index), ())
    if len(points) < 2:
        return False
    stood = mono - points[-1][0]
    if stood <= STANDS_AFTER:
        return False
    return stood > STANDS_GAPS * max(later[0] - earlier[0] for earlier, later in pairwise(points))


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and float(value).is_integer() else value


def name_of(job: Job, track: Mapping[str, Any]) -> str:
    """What a job is called: as its owner says, else as its scheduler does, from when that is first known."""
    told = track.get("name")
    return plain(told, NAME) or job.name if isinstance(told, str) and "name" not in job.track else job.name
