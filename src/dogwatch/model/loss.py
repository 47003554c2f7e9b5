"""Loss: what is wrong with the loss of a training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """`broken` is not a number any more, else it lies at `now` after it had come to `best`. `since` is the count of
    steps at which that was first seen, where one is known."""

    name: str
    broken: bool
    now: float | None = None
    best: float | None = None
    since: float | None = None
