"""A job that was given GPUs has no process on any."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Rule

name = "gpu_unused"

LEAST_SECONDS = 600.0  # seconds: importing and reading data come before the first call of a GPU


def judge(case: Case, now: float) -> Iterator[Finding]:
    past = case.gpu_past
    if past is None or past.away < LEAST_SECONDS:
        return
    given = ", ".join(dict.fromkeys(worker.gpu for worker in case.workers if worker.gpu))
    text = (
        f"none of its processes uses a GPU, although it was given GPU {given[:80]}: "
        "check whether the program found CUDA (torch.cuda.is_available()) and chose a device"
    )
    yield Finding(case.job.ref, name, Level.WARNING, text)


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpu_past")
