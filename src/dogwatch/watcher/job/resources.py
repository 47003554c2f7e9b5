"""Spent: what a job has used so far, added up poll by poll, and its numbers of this poll.

Thinned readings lose peaks and sums, so those are carried in its memory. Only seconds that we really watched are
added up: what happened in a gap of our own is not known, and is not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dogwatch.model import Gpu, GpuFigures, Progress, Worker

if TYPE_CHECKING:
    from dogwatch.wire.documents.machine import SpentDocument

IDLE = 0.05  # a GPU that is used less is idle
LONGEST = 600.0  # between two samples that are joined
MISSED = 0.1  # of the time between them that we may not have watched


@dataclass(slots=True)
class Spent:
    """One job's, of all its attempts. `tenths` are seconds of GPUs by their use, 0–10 % first; `last` is the newest
    sample of its GPUs: our clock, the age of the job then, each one's use, and their watts together."""

    rss: int | float | None = None
    gpu_memory: int | float | None = None
    gpus: int = 0
    tenths: list[float] = field(default_factory=list)
    idle: float = 0.0
    busy: float = 0.0
    joules: float | None = None
    metered: float = 0.0
    last: list[float | None] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The GPUs of a job in one poll: the use of each from 0 to 1, and what they hold and draw together."""

    used: tuple[float, ...] = ()
    gpus: int = 0
    memory: int | None = None
    watts: float | None = None

    @property
    def mean(self) -> float | None:
        return sum(self.used) / len(self.used) if self.used else None


def sampled(figures: GpuFigures | None, gpus: Sequence[Gpu] = ()) -> Sample | None:
    """What was read of its GPUs in this poll; else what a file of nvidia-smi's lines beside a scheduler's job says,
    where the mean of all its GPUs stands for each."""
    if gpus:
        cut = {gpu.parent for gpu in gpus}  # what its slices hold, a whole one holds too
        held = [gpu.memory_used for gpu in gpus if gpu.memory_used is not None and gpu.uuid not in cut - {""}]
        watts = [gpu.watts for gpu in gpus if gpu.watts is not None]
        used = tuple(gpu.used for gpu in gpus if gpu.used is not None)
        return Sample(used, len(gpus), sum(held) if held else None, sum(watts) if watts else None)
    if figures is None:
        return None
    count, percent = figures.gpus or 1, figures.gpu_percent
    used = () if percent is None else (min(1.0, max(0.0, percent / 100)),) * count
    return Sample(used, count, figures.gpu_memory_used_bytes)


def add_up(spent: Spent, age: float, mono: float, workers: Sequence[Worker], sample: Sample | None) -> None:
    """Take in one look at a job that has been watched for `age` seconds."""
    held = [worker.memory_bytes for worker in workers if worker.memory_bytes is not None]
    if held:
        spent.rss = max(spent.rss or 0, sum(held))
    if sample is None:
        return
    spent.gpus = max(spent.gpus, sample.gpus)
    if sample.memory is not None:
        spent.gpu_memory = max(spent.gpu_memory or 0, sample.memory)
    seconds = _watched_since(spent.last, age, mono)
    if seconds and sample.used:
        spent.tenths = spent.tenths or [0.0] * 10
        for use in sample.used:
            spent.tenths[min(9, int(10 * use))] += seconds
            spent.idle += seconds if use < IDLE else 0.0
            spent.busy += seconds * use
    before = spent.last[2] if spent.last else None
    if seconds and before is not None and sample.watts is not None:
        spent.joules = (spent.joules or 0.0) + seconds * (before + sample.watts) / 2
        spent.metered += seconds
    spent.last = [mono, age, sample.watts]


def _watched_since(last: Sequence[float | None] | None, age: float, mono: float) -> float:
    """The seconds since the last sample, if somebody watched through nearly all of them."""
    if last is None:
        return 0.0
    passed, watched = mono - (last[0] or 0.0), age - (last[1] or 0.0)
    return passed if 0 < passed <= LONGEST and watched >= (1 - MISSED) * passed else 0.0


def document(spent: Spent, age: float) -> SpentDocument:
    """As every interface prints it."""
    return {
        "watched_seconds": round(age, 1),
        "memory_peak_bytes": spent.rss,
        "gpu_memory_peak_bytes": spent.gpu_memory,
        "gpus": spent.gpus or None,
        "gpu_tenths_seconds": [round(seconds, 1) for seconds in spent.tenths] or None,
        "gpu_busy_seconds": round(spent.busy, 1) if spent.tenths else None,
        "gpu_idle_seconds": round(spent.idle, 1) if spent.tenths else None,
        "energy_joules": None if spent.joules is None else round(spent.joules, 1),
        "energy_seconds": round(spent.metered, 1) if spent.joules is not None else None,
    }


def measured(
    progress: Progress | None,
    workers: Sequence[Worker],
    sample: Sample | None,
    outputs: Mapping[str, Sequence[Sequence[float]]],
    losses: Mapping[str, Sequence[Sequence[float | None]]] | None = None,
) -> dict[str, float]:
    """What is known of a job now, as a reading; empty when that is nothing."""
    held = [worker.memory_bytes for worker in workers if worker.memory_bytes is not None]
    sizes = [samples[-1][1] for samples in outputs.values() if samples]
    found = {
        "step": None if progress is None else progress.step,
        "rate": None if progress is None or progress.rate is None else float(f"{progress.rate:.4g}"),
        "rss": sum(held) if held else None,
        "gpu_used": None if sample is None or sample.mean is None else round(sample.mean, 3),
        "gpu_memory": None if sample is None else sample.memory,
        "watts": None if sample is None or sample.watts is None else round(sample.watts, 1),
        "output_bytes": sum(sizes) if sizes else None,
        "loss": next((samples[-1][2] for samples in (losses or {}).values() if samples), None),
    }
    return {key: value for key, value in found.items() if value is not None}
