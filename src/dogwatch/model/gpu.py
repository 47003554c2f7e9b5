"""Gpu: one graphics processor as a look saw it, or one slice of it (MIG)."""

from __future__ import annotations

from dataclasses import dataclass


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
    """What one look read of one GPU: `used` from 0 to 1, memory in bytes, `throttle` the reasons for a lowered clock
    in words, `ecc` uncorrected errors since the driver was loaded, `xid` the driver's error numbers since the job
    began. None is what it does not tell, never 0. A slice names its whole's uuid as `parent`, and shares its index."""

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
