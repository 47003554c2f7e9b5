"""The parts of a job document that are made of its facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from msgspec import to_builtins

from dogwatch.clock import stamp
from dogwatch.model import BoxFacts, Efficiency, Facts, GpuSummary, Stage, Tasks

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import TasksDocument
    from dogwatch.wire.documents.machine import EfficiencyDocument
    from dogwatch.wire.documents.stages import BoxDocument, SiteDocuments, StageDocument


def tasks_document(tasks: Tasks | None) -> TasksDocument | None:
    return None if tasks is None else cast("TasksDocument", to_builtins(tasks))


def efficiency_document(used: Efficiency | None, gpus: GpuSummary | None = None) -> EfficiencyDocument | None:
    """What it used; of the GPUs by what looks at them saw, where the accounting does not know."""
    if used is None:
        return None
    if gpus is not None:
        percent, memory = used.gpu_percent, used.gpu_memory_bytes
        used = replace(
            used,
            gpu_percent=gpus.gpu_percent if percent is None else percent,
            gpu_memory_bytes=gpus.gpu_memory_bytes if memory is None else memory,
        )
    return cast("EfficiencyDocument", to_builtins(used))


def site_documents(facts: Facts) -> SiteDocuments:
    """The stages of a run and the machine that it has to itself; null where a job has neither."""
    stages = [_stage_document(stage) for stage in facts.stages]
    return {"stages": stages or None, "box": None if facts.box is None else _box_document(facts.box)}


def _stage_document(stage: Stage) -> StageDocument:
    return {
        "name": stage.name,
        "state": stage.state,
        "started": stamp(stage.started),
        "ended": stamp(stage.ended),
        "exit_code": stage.exit_code,
        "attempt": stage.attempt,
        "log": stage.log,
        "waits_for": stage.waits_for or None,
    }


def _box_document(box: BoxFacts) -> BoxDocument:
    return {
        "kind": box.kind,
        "directory": box.directory,
        "session": box.session,
        "machine_id": box.machine,
        "boot_id": box.boot,
        "clock": stamp(box.wall or None),
        "alive": list(box.alive),
        "lost": box.lost or None,
        "restart": box.restart or None,
        "heartbeat_at": stamp(box.heartbeat_at),
        "last_line": box.last_line or None,
        "notice": box.pushed or None,
        "resume_command": box.resume or None,
        "memory_used_bytes": box.memory_used,
        "memory_limit_bytes": box.memory_limit,
        "oom_kills": box.kills,
        "cpus": box.cpus,
        "cpu_quota": box.quota,
        "threads": box.threads,
        "threads_running": box.threads_running,
        "load": box.load,
        "results": box.results,
        "results_bytes": box.results_bytes,
        "results_expected": box.results_expected,
        "results_newest": box.results_newest,
        "results_text": box.results_text or None,
        "decisions": [
            {"name": row.name, "level": row.level.value, "says": row.says, "do": row.do} for row in box.decisions
        ],
    }
