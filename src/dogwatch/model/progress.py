"""Progress and Eta: how far a job is, and when it will be done, as an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

TOO_MUCH = 1.01


class Point(NamedTuple):
    """How far the job was at a moment; the series of these is what estimates are made from."""

    at: float
    done: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far, of how much, how fast now and on average (units per second)."""

    step: float
    total: float | None
    unit: str
    rate: float | None
    rate_average: float | None
    at: float

    @property
    def fraction(self) -> float | None:
        """How much is done, of 1; None where there is no total, or more was counted than there is."""
        return min(1.0, max(0.0, self.step / self.total)) if self.total and not self.is_too_much else None

    @property
    def is_too_much(self) -> bool:
        """Whether more was counted than there is, beyond what a padded last batch explains: a contradiction."""
        return bool(self.total) and self.step > TOO_MUCH * (self.total or 0.0)


@dataclass(frozen=True, slots=True)
class Eta:
    """Seconds still to go: the estimate and an interval that should hold it with `confidence` (0-1)."""

    remaining: float
    low: float
    high: float
    confidence: float
