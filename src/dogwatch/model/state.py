"""State: what a job is doing, each variant carrying just what is true in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Outcome(StrEnum):
    """How an attempt ended, in our words; the place's own word is kept beside it. No place says COMPLETED or
    INCOMPLETE: the final checks do (model/outcome.py)."""

    SUCCEEDED = "succeeded"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILED = "node_failed"
    PREEMPTED = "preempted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One evidence for a state: who says it, what it says, when it was seen to say so."""

    by: str
    says: str
    at: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Known to the place, not started."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Under way on the place named by `where`."""

    since: float | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """Over, for this attempt, for good."""

    outcome: Outcome
    exit_code: int | None = None
    signal: int | None = None
    at: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """Not listed by a place that did answer: a clock that runs, not an ending."""

    since: float


State: TypeAlias = Waiting | Running | Ended | Missing


def word(state: State | None) -> str | None:
    """The one word of a state that every interface prints; None before the first poll."""
    match state:
        case None:
            return None
        case Waiting():
            return "waiting"
        case Running():
            return "running"
        case Ended():
            return "ended"
        case Missing():
            return "missing"
