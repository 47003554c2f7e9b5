"""A GPU is slowed down by heat or by a failing power supply, and stays so. (A power cap is how many of them work.)"""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Gpu, Level, Running
from dogwatch.rules.interface import Case, Rule, gpus_of

name = "gpu_throttled"

LEAST_SECONDS = 120.0


def judge(case: Case, now: float) -> Iterator[Finding]:
    for gpu in case.gpus:
        if case.gpu_past is not None and case.gpu_past.of(gpu).throttled >= LEAST_SECONDS:
            yield Finding(case.job.ref, name, Level.WARNING, _tell(gpu), gpu.key)


def gone(case: Case, what: str) -> Closing:
    return Closing.RESOLVED if any(gpus_of(case, what)) else Closing.OPEN


def _tell(gpu: Gpu) -> str:
    named = gpu.slowed
    hot = any("thermal" in word for word in named)
    remedy = "check its cooling: fans, dust, room temperature" if hot else "check its power supply and cables"
    return f"GPU {gpu.index} is slowed down ({', '.join(named)}): {remedy}"


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="gpus", gone=gone)
