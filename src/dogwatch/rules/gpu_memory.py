"""The memory of a GPU will be full, by a steady rise or by a jump. Being full alone is no news: many programs take
nearly all of it when they start."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Gpu, GpuHistory, Level, Running
from dogwatch.rules.interface import Case, Rule, gpus_of

name = "gpu_memory"

AHEAD = 6 * 3600.0  # how far to look where nobody knows when the job is done
SURE = 0.8  # of the time still to go: memory that lasts longer than that may last
SOON = 1800.0
FULL = 0.95
JUMP = 0.15  # of all memory, above what it usually takes


def judge(case: Case, now: float) -> Iterator[Finding]:
    to_go = case.eta.remaining if case.eta is not None else AHEAD
    for gpu in case.gpus:
        course = case.gpu_past.of(gpu) if case.gpu_past is not None else GpuHistory()
        if course.full_in is not None and course.full_in < SURE * to_go:
            level = Level.CRITICAL if course.full_in < SOON else Level.WARNING
            text = (
                f"the memory of GPU {gpu.index} rises steadily and will be full in about {_spell(course.full_in)}: "
                "look for tensors that are kept (losses summed with their graph, growing caches)"
            )
            yield Finding(case.job.ref, name, level, text, gpu.key)
        elif _jumped(gpu, course):
            now_full, usually = _percent(gpu.memory_used, gpu), _percent(course.usual, gpu)
            text = (
                f"the memory of GPU {gpu.index} jumped to {now_full} % (usually {usually} %); the next step may "
                "run out of memory: check for a longer batch, or an evaluation that keeps its results"
            )
            yield Finding(case.job.ref, name, Level.WARNING, text, gpu.key)


def gone(case: Case, what: str) -> Closing:
    return Closing.RESOLVED if any(gpu.memory_used is not None for gpu in gpus_of(case, what)) else Closing.OPEN


def _jumped(gpu: Gpu, course: GpuHistory) -> bool:
    if gpu.memory_used is None or not gpu.memory_total or course.usual is None:
        return False
    above = gpu.memory_used - course.usual
    return gpu.memory_used >= FULL * gpu.memory_total and above >= JUMP * gpu.memory_total


def _percent(size: int | None, gpu: Gpu) -> int:
    return round(100 * (size or 0) / (gpu.memory_total or 1))


def _spell(seconds: float) -> str:
    """In few steps, so that the words stay the same for a while."""
    if seconds >= 5400:
        return f"{round(seconds / 3600)} h"
    return f"{max(10, round(seconds / 600) * 10)} min"


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpus", gone=gone)
