"""Verdict: whether a running job works, by all the evidence there is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StallState(StrEnum):
    """The five answers to "is it stuck?"."""

    WORKING = "working"
    SLOW = "slow"
    SILENT_BUT_BUSY = "silent but busy"
    STALLED = "stalled"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class StallEvidence:
    """One thing that was asked, what it shows, and for how many seconds of watching it has not moved;
    None where it cannot move. `percent` is how busy a GPU is."""

    by: str
    says: str
    quiet: float | None = None
    percent: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word, since when it holds, the evidence it rests on, and the seconds of silence that this job is
    allowed now. `silent` is how long nothing has moved while it was watched; `why` says it in a sentence."""

    word: StallState
    since: float
    evidence: tuple[StallEvidence, ...] = ()
    silence_limit: float | None = None
    silent: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Straggler:
    """A worker that has fallen behind its equals, since when, and how, in words; whether it `stands`."""

    worker: str
    since: float
    why: str
    stands: bool = False
