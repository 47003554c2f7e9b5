"""What a reader of result files must offer, and what it gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Score:
    """One figure of merit, as its file has it: a fraction stays a fraction."""

    task: str
    metric: str
    value: float
    stderr: float | None = None


class Reader(Protocol):
    """A kind of result file."""

    globs: tuple[str, ...]

    def read(self, text: str) -> Sequence[Score] | None:
        """The headline scores in the file's own order; None for a file that is not one of these, or not whole."""
        ...


class BytesReader(Protocol):
    """A kind of result file that is no text; of a large one it gets the end."""

    globs: tuple[str, ...]

    def read_bytes(self, raw: bytes) -> Sequence[Score] | None:
        """As a reader of text does."""
        ...


def figure(value: Any) -> float | None:
    """A number that can be a score; results hold "N/A", true and NaN as well."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
