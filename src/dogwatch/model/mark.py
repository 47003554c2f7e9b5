"""Mark: what a log line meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Step:
    """A progress counter. `rank` orders counters of one log: a run's counter outranks an epoch's."""

    done: float
    total: float | None = None
    unit: str = "items"
    rate: float | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Metric:
    """A named number: loss, accuracy, learning rate."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Phase:
    """What the job says it is doing: starting, training, validating, checkpointing, exporting."""

    name: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The log says that the work is done; a claim, not a proof."""

    text: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line that the owner's own pattern calls an error; `level` is critical or warning."""

    level: str
    text: str
    pattern: str = ""


Mark: TypeAlias = Step | Metric | Phase | Finished | Trouble
