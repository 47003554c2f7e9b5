"""A GPU that the job computes on is used for a small part of the time only: it waits for its data most of the time."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, GpuHistory, Level, Running
from dogwatch.rules.interface import Case, Rule, gpus_of

name = "gpu_low"

PAUSE = 600.0  # seconds: a validation or a checkpoint is shorter
LOADING = 1200.0  # the same where it has never been used more


def judge(case: Case, now: float) -> Iterator[Finding]:
    if case.gpu_past is None or case.gpu_past.away or case.progress is None:
        return
    for gpu in case.gpus:
        course = case.gpu_past.of(gpu)
        if gpu.used is not None and _lasts(course):
            minutes = int(course.low // 60)
            text = f"GPU {gpu.index} is below 20 % utilisation for {minutes - minutes % 5} min while the job runs"
            what = "check whether it waits for data: try more loader workers, a faster disk, larger batches"
            yield Finding(case.job.ref, name, Level.WARNING, f"{text}: {what}", gpu.key)


def gone(case: Case, what: str) -> Closing:
    """When it was seen to be used more; not because it was not read, or the job's processes have left it."""
    away = case.gpu_past is None or case.gpu_past.away
    read = any(gpu.used is not None for gpu in gpus_of(case, what))
    return Closing.RESOLVED if read and not away else Closing.OPEN


def _lasts(course: GpuHistory) -> bool:
    """Little use for long enough. One that does nothing at all is another finding."""
    return course.low >= (PAUSE if course.rose else LOADING) and course.idle < PAUSE


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpus", gone=gone, gives_way_to=("gpu_idle", "gpu_unused"))
