"""GPUs: what was read of a job's GPUs, for how long things have been so, and the power that they usually draw."""

from __future__ import annotations

from msgspec import Struct, field

from dogwatch.estimate.gpu_history import GpuCourse
from dogwatch.model import Gpu


class GpuState(Struct, omit_defaults=True):
    """The last reading: at `mono` (wall time `at`), when the job was `age` seconds old. `gpus` are the job's own, None
    before any were read; `strays` are workers on another GPU than the one they were given. `course` is what all
    readings showed so far, `silence` the newest readings of a silence, `power` the usual watts of each GPU."""

    mono: float | None = None
    at: float = 0.0
    age: float = 0.0
    gpus: list[Gpu] | None = None
    strays: list[tuple[int, str, int | None]] = field(default_factory=list)
    course: GpuCourse = field(default_factory=GpuCourse)
    silence: list[list[float | None]] = field(default_factory=list)
    power: dict[str, float] = field(default_factory=dict)
