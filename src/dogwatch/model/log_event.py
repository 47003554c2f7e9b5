"""LogEvent: what a log line means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Step:
    """A progress counter. `rank` orders counters of one log: a run's counter outranks an epoch's. `printed`
    is the number that the log shows where `done` is finer (epoch 3 of 10, when 2.4 are behind)."""

    done: float
    total: float | None = None
    unit: str = "items"
    rate: float | None = None
    rank: int = 0
    printed: float | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """How much there is to do in all, as a configuration or a banner says once."""

    count: float
    unit: str


@dataclass(frozen=True, slots=True)
class Interval:
    """How often the job does `what` (save, evaluate, log), as a configuration says once: `every` so many steps or
    epochs, 0 for never; the unit is empty where the name does not tell. Of `epoch` it is how many steps one has."""

    what: str
    every: float
    unit: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """The run goes on from here: what its counters say below this is not a new beginning."""

    done: float
    unit: str


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
    """The log says that the work is done; a claim, not a piece of evidence."""

    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """A line that only this program prints; it says who wrote the log and nothing else."""

    program: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line that an error pattern matches, with the words of it that do; `level` is critical or warning."""

    level: str
    text: str
    pattern: str = ""
    words: str = ""


DEFAULT_PATTERN = "default:"  # before the name of an error pattern that is on by default


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """All lines of a job that one error pattern matched: how many, the newest of them, and when that was read."""

    pattern: str
    level: str
    count: int
    words: str
    text: str
    at: float

    @property
    def is_default(self) -> bool:
        """Whether nobody asked for the pattern: it is on by default."""
        return self.pattern.startswith(DEFAULT_PATTERN)


LogEvent: TypeAlias = Step | Total | Interval | Resumed | Metric | Phase | Finished | Origin | Trouble
