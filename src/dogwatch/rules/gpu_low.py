"""A GPU that the job computes on is used for a small part of the time only: it waits for its data most of the time."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules import gpu_idle
from dogwatch.rules.interface import Case

name = "gpu_low"
states, needs = (Running,), "gpus"


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
