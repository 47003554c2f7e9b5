"""What is kept of a job between ticks. Everything that updates a job builds on this, and this on none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dogwatch.model import Eta, Facts, Gpu, GpuPast, Job, Known, Loss, Progress, Straggler, Verdict, Worker
from dogwatch.rules.interface import Case, Disk
from dogwatch.watcher.job.counting import Counts
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import Readers


@dataclass(slots=True)
class Fresh:
    """What this watcher itself has seen of a job: whether its loss was judged, which workers could be compared, when
    one of them last ended, and when anything last moved."""

    loss: bool = False
    compared: frozenset[str] = frozenset()
    left: float = float("-inf")
    moved: float = float("-inf")


@dataclass(slots=True)
class WatchedJob:
    """One job between ticks: what it is, what is known of it, and what watching it has taught."""

    job: Job
    known: Known
    memory: Memory
    readers: Readers
    started: float | None = None
    remaining: float | None = None
    saved: float = float("-inf")
    described: float = float("-inf")  # when the store was last told all of it, if nothing has happened since
    heard: float = float("-inf")
    eta: Eta | None = None
    eta_at: float = float("-inf")
    counts: Counts | None = None
    progress: Progress | None = None
    told: Facts | None = None
    disks: Mapping[str, Disk] = field(default_factory=dict)
    workers: tuple[Worker, ...] = ()
    verdict: Verdict | None = None
    slow: tuple[float, str] | None = None
    straggler: Straggler | None = None
    slow_at: float = float("-inf")
    gone_in: Mapping[tuple[str, str], float] = field(default_factory=dict)
    room_at: float = float("-inf")
    gpus: tuple[Gpu, ...] = ()
    kept: float = float("-inf")
    gpu_past: GpuPast | None = None
    loss: Loss | None = None
    fresh: Fresh = field(default_factory=Fresh)
    case: Case | None = None  # as the rules saw it in the round before, if nothing but time has passed since
