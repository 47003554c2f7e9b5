"""Ending: what is still open of a job that has ended."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Untold(NamedTuple):
    """A change of state that is told when its outcome is decided: the word for the state before, and the event's
    kind."""

    before: str
    kind: str


class EndingState(Struct, omit_defaults=True):
    """`tries` are the polls after the end in which a check got no answer."""

    tries: int = 0
    untold: Untold | None = None
