"""Somebody else computes on a GPU of the job."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Gpu, GpuProcess, Level, Running
from dogwatch.rules.interface import Case, Rule, gpus_of

name = "gpu_shared"

LEAST_SECONDS = 45.0  # seconds: what comes and goes between two polls is a test, not a neighbour
MOST_NAMED = 3


def judge(case: Case, now: float) -> Iterator[Finding]:
    for gpu in case.gpus:
        found = gpu.others
        if case.gpu_past is not None and found and case.gpu_past.of(gpu).shared >= LEAST_SECONDS:
            yield Finding(case.job.ref, name, Level.WARNING, _tell(gpu, found), gpu.key)


def gone(case: Case, what: str) -> Closing:
    return Closing.RESOLVED if any(gpu.listed for gpu in gpus_of(case, what)) else Closing.OPEN


def _tell(gpu: Gpu, found: tuple[GpuProcess, ...]) -> str:
    named = ", ".join(_process(one) for one in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    few = "is" if len(found) == 1 else "are"
    return (
        f"{named}{more} {few} on GPU {gpu.index} too; ask its owner, or end it if it is left over from an earlier run"
    )


def _process(one: GpuProcess) -> str:
    size = "" if one.memory is None else f" with {one.memory / 1e9:.0f} GB" if one.memory >= 1e9 else " with < 1 GB"
    return f"{one.name or 'a process'} of {one.user or 'somebody'} (pid {one.pid}){size}"


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpus", gone=gone)
