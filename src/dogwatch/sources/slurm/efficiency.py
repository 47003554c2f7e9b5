"""What a job used of what it asked for: the figures that `seff` prints, from the accounting alone."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.model import Efficiency
from dogwatch.model.time_limit import limit_to_ask
from dogwatch.sources.slurm.accounting import Record


def efficiency(records: Sequence[Record]) -> Efficiency | None:
    """The figures of a job, or of all tasks of one: time and memory of the worst, processors of all."""
    ran = [record for record in records if record.start is not None and record.elapsed is not None]
    if not ran:
        return None
    longest = max(ran, key=lambda record: record.elapsed or 0.0)
    limit = max((record.limit for record in ran if record.limit), default=None)
    exceeded = any(record.word == "TIMEOUT" for record in ran)
    cores = sum((record.elapsed or 0.0) * max(1, record.cpus) for record in ran)
    used = [seconds for seconds in map(_cpu, ran) if seconds is not None]
    memory, asked = max(map(_memory, ran), key=lambda pair: pair[0] or 0)
    steps = [step for record in ran for step in record.steps]
    gpu_seconds = sum((record.elapsed or 0.0) * record.gpus for record in ran)
    return Efficiency(
        wall_seconds=longest.elapsed,
        limit_seconds=limit,
        wall_percent=_percent(longest.elapsed, limit),
        cpu_percent=_percent(sum(used), cores) if used else None,
        cpu_seconds=round(sum(used), 3) if used else None,
        memory_bytes=memory,
        memory_requested_bytes=asked,
        memory_percent=_percent(memory, asked),
        gpu_percent=max((step.gpu_percent for step in steps if step.gpu_percent is not None), default=None),
        gpu_memory_bytes=max((step.gpu_memory for step in steps if step.gpu_memory is not None), default=None),
        gpus=max(record.gpus for record in ran) or None,
        gpu_seconds=gpu_seconds or None,
        exceeded=exceeded,
        ask_for_seconds=limit_to_ask(limit, None, None) if exceeded else None,
    )


def _cpu(record: Record) -> float | None:
    """Processor seconds: of the steps, as seff adds them up, else the job's own sum."""
    spent = [step.cpu for step in record.steps if step.cpu is not None]
    return sum(spent) if spent else record.cpu


def _memory(record: Record) -> tuple[int | None, int | None]:
    """The memory of the step that used most, and what the job was given."""
    return max((step.memory for step in record.steps if step.memory is not None), default=None), record.memory


def _percent(part: float | None, whole: float | None) -> float | None:
    return round(100.0 * part / whole, 2) if part is not None and whole else None
