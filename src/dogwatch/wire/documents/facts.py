"""The parts of a job document that are made of its facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from msgspec import to_builtins

from dogwatch.model import Efficiency, GpuSummary, Tasks

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import TasksDocument
    from dogwatch.wire.documents.machine import EfficiencyDocument


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
