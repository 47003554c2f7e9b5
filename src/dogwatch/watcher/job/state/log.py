"""Logs: how far each was read, and what all that was read has told of the job."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from dogwatch.diagnosis.line_collector import CollectorState
from dogwatch.logs.reader import ReaderState
from dogwatch.model import ErrorGroup, Interval
from dogwatch.wire.requests import LogCursor

# As people, Keras, Lightning and boosted trees write it, whatever the case of its first letter; most text has none of
# the words that it begins with.
EARLY = (b"arly", b"ARLY")
EARLY_STOP = (b"arly stop", b"arly-stop", b"arly_stop", b"arlyStop", b"arlystop", b"ARLY STOP", b"ARLY_STOP")


class LogState(Struct, omit_defaults=True):
    """The logs of one job; `readers` and `gathered` are the states of their readers as of the last save, which belong
    to those who read."""

    cursors: dict[str, LogCursor] = field(default_factory=dict)
    readers: dict[str, ReaderState] = field(default_factory=dict)
    gathered: dict[str, CollectorState] = field(default_factory=dict)
    errors: dict[str, ErrorGroup] = field(default_factory=dict)
    intervals: list[Interval] = field(default_factory=list)  # that configurations in the logs state
    seen: bool = False
    may_stop: bool = False  # the logs speak of early stopping: it may end before its total


def names(log: LogState) -> set[str]:
    """The logs that are there, a rotated part counted as the log that it is part of."""
    return {cursor.part_of or path for path, cursor in log.cursors.items()}


def note_early_stop(log: LogState, parts: Iterable[bytes]) -> None:
    """Take in whether what was read speaks of early stopping."""
    if not log.may_stop:
        early = [part for part in parts if EARLY[0] in part or EARLY[1] in part]
        log.may_stop = any(words in part for part in early for words in EARLY_STOP)
