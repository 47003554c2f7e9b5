"""Gpu: one graphics processor as a poll saw it, or one slice of it (MIG); and what polls showed of a job's so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Reasons for a lowered clock that are no good sign; a power cap is how many GPUs work.
_SLOWED = frozenset({"hardware slowdown", "thermal slowdown", "hardware thermal slowdown", "power brake"})
# A process's own short name, which the kernel cuts at 15 letters: they serve others, or only look.
_SERVANTS = frozenset({"nvidia-cuda-mps", "nvidia-persiste", "nv-hostengine", "dcgm-exporter"})
_NEGLIGIBLE = 64 << 20  # bytes


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process that holds memory on a GPU. `user` and `name` are empty where the place could not see it, as in a
    container that is shown pids from outside; then, and only then, `ours` is None: nobody can say whose it is."""

    pid: int
    user: str = ""
    memory: int | None = None
    name: str = ""
    ours: bool | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """What one poll read of one GPU: `used` from 0 to 1, memory in bytes, `throttle` the reasons for a lowered clock
    in words, `ecc` uncorrected errors since the driver was loaded, `xid` the driver's error numbers since the job
    began. None is what it does not tell, never 0. A slice names its whole's uuid as `parent`, and shares its index.
    `trouble` is why it cannot be used at all; not `listed` is one whose processes could not be had."""

    index: int
    uuid: str = ""
    name: str = ""
    used: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    watts: float | None = None
    watts_limit: float | None = None
    celsius: float | None = None
    throttle: tuple[str, ...] = ()
    ecc: int | None = None
    xid: tuple[int, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    mhz: int | None = None
    mhz_most: int | None = None
    parent: str = ""
    trouble: str = ""
    listed: bool = True

    @property
    def key(self) -> str:
        """What names it from look to look; an index moves when another GPU is lost."""
        return self.uuid or f"gpu {self.index}"

    @property
    def slowed(self) -> tuple[str, ...]:
        """Why it is slower than it should be; the hardware's own reasons always bring the general one with them."""
        found = tuple(word for word in self.throttle if word in _SLOWED)
        return tuple(word for word in found if word != "hardware slowdown") or found

    @property
    def others(self) -> tuple[GpuProcess, ...]:
        """The processes on it that are certainly not the job's, without those that hold next to nothing."""
        return tuple(
            process
            for process in self.processes
            if process.ours is False
            and process.name[:15] not in _SERVANTS
            and (process.memory is None or process.memory > _NEGLIGIBLE)
        )


@dataclass(frozen=True, slots=True)
class GpuHistory:
    """What several polls showed of one GPU of a job, in seconds of watching: for how long it has done nothing, been
    slowed down, had another's process on it; the longest idling that it came back from; `usual` bytes of memory, the
    seconds until there is none left where a trend says so, and the memory errors since the first poll. `low` is for
    how long it has been used little on average, `rose` whether it was ever used more."""

    idle: float = 0.0
    worked: bool = False
    longest: float = 0.0
    throttled: float = 0.0
    shared: float = 0.0
    usual: int | None = None
    full_in: float | None = None
    ecc: int = 0
    low: float = 0.0
    rose: bool = False


@dataclass(frozen=True, slots=True)
class Stray:
    """A worker with a process on a GPU that it was not given, or that was given one (`gpu` None) which is not there."""

    worker: int
    given: str
    gpu: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class GpuPast:
    """The same of all GPUs of a job, by key. `away` is for how long it was on none though it was given some."""

    courses: Mapping[str, GpuHistory] = field(default_factory=dict)
    away: float = 0.0
    strays: tuple[Stray, ...] = ()

    def of(self, gpu: Gpu) -> GpuHistory:
        return self.courses.get(gpu.key) or GpuHistory()
