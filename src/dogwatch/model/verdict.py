"""Verdict: whether a running job works, by every witness that could be asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """The five answers to "is it stuck?"."""

    WORKING = "working"
    SLOW = "slow"
    SILENT_BUT_BUSY = "silent but busy"
    STALLED = "stalled"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Witness:
    """One thing that was asked, what it shows, and for how many seconds of looking it has not moved;
    None where moving is not what it is asked about."""

    by: str
    says: str
    quiet: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word, since when it holds, the witnesses it rests on, and the seconds of silence that this job is
    allowed now. `silent` is how long nothing has moved while we looked; `why` says it in a sentence."""

    word: Standing
    since: float
    witnesses: tuple[Witness, ...] = ()
    patience: float | None = None
    silent: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Straggler:
    """A worker that has fallen behind its equals, since when, and how, in words; whether it `stands` still."""

    worker: str
    since: float
    why: str
    stands: bool = False
