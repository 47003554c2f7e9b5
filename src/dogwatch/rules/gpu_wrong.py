"""A worker computes on a GPU that it was not given, or was given one that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running
from dogwatch.rules.interface import Case, Rule

name = "gpu_wrong"

LEAST_SECONDS = 30.0  # seconds: one poll may fall between a worker's first call and its choice


def judge(case: Case, now: float) -> Iterator[Finding]:
    for stray in case.gpu_past.strays if case.gpu_past is not None else ():
        who = f"worker {stray.worker}"
        if stray.gpu is None:
            text = f"{who} was given GPU {stray.given}, and there is no such GPU; start it with one that exists"
            yield Finding(case.job.ref, name, Level.CRITICAL, text, who)
        elif stray.seconds >= LEAST_SECONDS:
            text = (
                f"{who} was given GPU {stray.given} and computes on GPU {stray.gpu}: "
                "check whether the program sets CUDA_VISIBLE_DEVICES or a device by itself"
            )
            yield Finding(case.job.ref, name, Level.WARNING, text, f"{who} on {stray.gpu}")


def gone(case: Case, what: str) -> Closing:
    for worker in case.workers:
        if what.split(" on ")[0] == f"worker {worker.index}":
            return Closing.ENDED_WITH_WORKER if worker.doing in ("gone", "zombie") else Closing.RESOLVED
    return Closing.OPEN


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpu_past", gone=gone)
