"""Ram: what the processes of a job hold of the memory that they may use, remembered from look to look."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.engine.memory import Memory
from dogwatch.estimate import filling
from dogwatch.model import Worker
from dogwatch.rules.interface import Held

OWN_SHARE = 0.5  # of a rise of the whole machine's memory, that must be the job's for it to be told of


def held(memory: Memory, workers: Sequence[Worker], mono: float) -> Held | None:
    """The fullest memory that any of the workers lives in, and when it will be full; None where no place said."""
    living = [worker for worker in workers if worker.memory_limit and worker.memory_used is not None]
    if not living:
        return None
    worst = max(living, key=lambda worker: (worker.memory_used or 0) / (worker.memory_limit or 1))
    used, limit, machine = worst.memory_used or 0, worst.memory_limit or 1, worst.memory_shared
    if memory.ram.get("limit") != limit or memory.ram.get("machine") != machine:
        memory.ram = {"limit": limit, "machine": machine, "samples": []}
    samples = memory.ram["samples"]
    if filling.sample(samples, mono, used, sum(worker.memory_bytes or 0 for worker in workers)):
        seconds = filling.full_in(samples, limit)
        others = machine and seconds is not None and filling.own_share(samples) < OWN_SHARE
        memory.ram["full_in"] = None if others else seconds
    return Held(used, limit, memory.ram.get("full_in"), machine)
