"""GPUs: what was read of a job's GPUs, for how long things have been so, and the power that they usually draw."""

from __future__ import annotations

from msgspec import Struct, field

from dogwatch.estimate.gpu_history import GpuCourse
from dogwatch.wire.documents.machine import GpuDocument


class GpuState(Struct, omit_defaults=True):
    """Read at `mono`, when the job was `age` seconds old: `seen` are the GPUs as interfaces print them, None before any
    were read; `strays` those that a worker was given and is not on. `course` is how they came there;
    `silence` holds the newest readings of a silence, `power` the usual watts by GPU."""

    mono: float | None = None
    age: float = 0.0
    seen: list[GpuDocument] | None = None
    strays: list[tuple[int, str, int | None]] = field(default_factory=list)
    course: GpuCourse = field(default_factory=GpuCourse)
    silence: list[list[float | None]] = field(default_factory=list)
    power: dict[str, float] = field(default_factory=dict)
