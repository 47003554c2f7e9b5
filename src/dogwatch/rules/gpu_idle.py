"""A GPU that the job holds does nothing for longer than loading, or its own pauses, explain."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Gpu, GpuHistory, Level, Running
from dogwatch.rules.interface import Case, Rule, gpus_of

name = "gpu_idle"

LOADING = 1200.0  # seconds before the first work: models load, caches fill, kernels compile
PAUSE = 600.0  # seconds after it: a validation or a checkpoint lets a GPU wait
LONGER = 2.0  # times the longest pause that it came back from


def judge(case: Case, now: float) -> Iterator[Finding]:
    if case.gpu_past is None:
        return
    if case.gpu_past.away:
        return  # no GPU of its own has a process of it: that is another finding
    for gpu in case.gpus:
        course = case.gpu_past.of(gpu)
        if gpu.used is not None and course.idle >= silence_limit(course):
            text = f"GPU {gpu.index} is allocated but idle for {_minutes(course.idle)} min{_why(gpu, course)}"
            yield Finding(case.job.ref, name, Level.WARNING, text, gpu.key)


def gone(case: Case, what: str) -> Closing:
    """When it was seen to work; not because it was not read, or the job's processes have left it."""
    away = case.gpu_past is None or case.gpu_past.away
    read = any(gpu.used is not None for gpu in gpus_of(case, what))
    return Closing.RESOLVED if read and not away else Closing.OPEN


def silence_limit(course: GpuHistory) -> float:
    return max(PAUSE, LONGER * course.longest) if course.worked else LOADING


def _minutes(seconds: float) -> int:
    """Coarser as it gets longer, so that the words stay the same for a while."""
    minutes = int(seconds // 60)
    return minutes - minutes % (5 if minutes < 60 else 30)


def _why(gpu: Gpu, course: GpuHistory) -> str:
    if gpu.listed and not any(one.ours is not False for one in gpu.processes):
        return ": no process of the job uses it; check the worker that it was given to"
    if not course.worked:
        return " and was never used: check whether the program runs on the CPU or waits for data"
    return ": check whether it waits for data, for another rank, or writes a checkpoint"


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpus", gone=gone, gives_way_to=("gpu_unused",))
