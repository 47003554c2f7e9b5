"""Memory use: what a job held of the memory that it may use, poll by poll."""

from __future__ import annotations

from msgspec import Struct, field


class HeldMemory(Struct, omit_defaults=True):
    """What a job of a scheduler, or a piece of it, holds by whoever counted (`by`): on so many nodes, `top` what the
    largest task holds and `usual` the others. It is `exact` where files that can be given back are left out."""

    used: int
    by: str
    limit: int | None = None
    top: int = 0
    usual: int | None = None
    nodes: int | None = None
    given: int | None = None
    left: float | None = None
    exact: bool = True
    counter: str = ""


class Weighed(Struct, omit_defaults=True):
    """What was last measured of the memory of a job: of its processes by the pid of each root (`trees`), or of a
    scheduler's job as a whole or of each of its pieces."""

    at: float
    trees: dict[str, int] = {}
    whole: HeldMemory | None = None
    pieces: dict[str, HeldMemory] | None = None


class RamSeries(Struct, omit_defaults=True):
    """One series of samples (our time, used, own) against one limit; `by` is who counted, empty where the processes
    were seen. `ahead` is what the fullest node held beyond the others at first, `left` the seconds that a scheduler
    allows more than its limit."""

    limit: float | None = None
    machine: bool = False
    samples: list[list[float]] = field(default_factory=list)
    full_in: float | None = None
    by: str = ""
    counter: str = ""  # the scheduler that counted
    nodes: int = 1
    used: float | None = None
    rough: bool = False
    left: float | None = None
    ahead: float | None = None
    weighed: float | None = None


class RamState(Struct, omit_defaults=True):
    """The `whole` job, or each of its `pieces` where those have memory of their own; `weighed` is when it was."""

    whole: RamSeries = field(default_factory=RamSeries)
    pieces: dict[str, RamSeries] = field(default_factory=dict)
    weighed: float | None = None

    @property
    def known(self) -> bool:
        return self.whole != NOTHING or bool(self.pieces)


NOTHING = RamSeries()
