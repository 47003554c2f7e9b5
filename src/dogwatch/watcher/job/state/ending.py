"""Ending: what is still open of a job that has ended."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from dogwatch.watcher.job.artifacts import Judgement


class Untold(NamedTuple):
    """A change of state that is told when its outcome is decided: the word for the state before, and the event's
    kind."""

    before: str
    kind: str


class IntegrityCount(Struct, omit_defaults=True):
    """How many files are intact, how many there was no time to read, and the first that are damaged with the reason."""

    files: int = 0
    intact: int = 0
    unread: int = 0
    damaged: int = 0
    broken: list[tuple[str, str]] = []


class FinalIntegrity(Struct, omit_defaults=True):
    """Whether what a job left is whole; of the checkpoints the newest is counted, and each that was judged is here."""

    outputs: IntegrityCount = field(default_factory=IntegrityCount)
    checkpoint: IntegrityCount = field(default_factory=IntegrityCount)
    checkpoints: dict[str, Judgement] = {}


class EndingState(Struct, omit_defaults=True):
    """`tries` are the polls after the end in which a check got no answer."""

    tries: int = 0
    untold: Untold | None = None
