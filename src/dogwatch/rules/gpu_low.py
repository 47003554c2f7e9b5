"""A GPU that the job computes on is used for a small part of the time only: it waits for its data most of the time."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running
from dogwatch.rules import gpu_idle
from dogwatch.rules.interface import Case

name = "gpu_low"
states, needs = (Running,), "gpus"
gives_way_to = ("gpu_idle", "gpu_unused")


def judge(case: Case, now: float) -> Iterator[Finding]:
    if case.gpu_past is None or case.gpu_past.away or case.progress is None:
        return
    for gpu in case.gpus:
        course = case.gpu_past.of(gpu)
        if gpu.used is None or course.low < (gpu_idle.PAUSE if course.rose else gpu_idle.LOADING):
            continue
        if course.idle >= gpu_idle.patience(course):
            continue  # it does nothing at all, and that is said
        minutes = int(course.low // 60)
        text = f"GPU {gpu.index} is used less than 20 % for {minutes - minutes % 5} min while the job goes on"
        what = "look whether it waits for data: more loader workers, a faster disk, larger batches"
        yield Finding(case.job.ref, name, Level.WARNING, f"{text}: {what}", gpu.key)


def gone(case: Case, what: str) -> Closing:
    """When it was seen to be used more; not because it was not read, or the job's processes have left it."""
    return gpu_idle.gone(case, what)
