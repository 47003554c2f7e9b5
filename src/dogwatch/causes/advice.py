"""Advice: what to do about a cause, and what would tell it from others, in words for the job at hand."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dogwatch.causes.interface import Alternative, Cause, OnSlurm

_JOB = re.compile(r"\bJOB\b")


def advice(cause: Cause, slurm_id: str | None) -> tuple[str, ...]:
    """What to do about it: with the id of the job in Slurm's commands, or without those where Slurm did not run it;
    where nobody knows, the commands stay and the id is left to the reader."""
    return tuple(words for one in cause.advice if (words := _worded(one, slurm_id)))


def alternatives(causes: Iterable[tuple[Cause, float]], slurm_id: str | None) -> tuple[Alternative, ...]:
    """These causes and how likely each is, but for those that only a scheduler could have been where there was none."""
    told = ((cause, share, _worded(cause.tell, slurm_id)) for cause, share in causes)
    return tuple(
        Alternative(cause.name, cause.title, share, tell) for cause, share, tell in told if tell or not cause.tell
    )


def _worded(words: str | OnSlurm, slurm_id: str | None) -> str:
    match words:
        case str():
            return words
        case OnSlurm(there, elsewhere):
            return elsewhere if slurm_id == "" else _JOB.sub(slurm_id or "JOB", there)
