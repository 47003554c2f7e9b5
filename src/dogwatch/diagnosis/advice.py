"""Advice: what to do about a cause, and what would tell it from others, in words for the job at hand."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dogwatch.diagnosis.interface import Alternative, Cause, OnScheduler

_JOB = re.compile(r"\bJOB\b")


def advice(cause: Cause, command_id: str | None) -> tuple[str, ...]:
    """What to do about it: with the id of the job in a scheduler's commands, or without those where none ran it;
    where nobody knows, the commands stay and the id is left to the reader."""
    return tuple(words for one in cause.advice if (words := _worded(one, command_id)))


def alternatives(causes: Iterable[tuple[Cause, float]], command_id: str | None) -> tuple[Alternative, ...]:
    """These causes and how likely each is, but for those that only a scheduler could have been where there was none."""
    told = ((cause, share, _worded(cause.tell, command_id)) for cause, share in causes)
    return tuple(
        Alternative(cause.name, cause.title, share, tell) for cause, share, tell in told if tell or not cause.tell
    )


def _worded(words: str | OnScheduler, command_id: str | None) -> str:
    match words:
        case str():
            return words
        case OnScheduler(there, elsewhere):
            return elsewhere if command_id == "" else _JOB.sub(command_id or "JOB", there)
