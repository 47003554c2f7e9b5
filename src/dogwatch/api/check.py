"""Check: whether files are whole, asked by hand."""

from __future__ import annotations

from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, FINE
from dogwatch.results.integrity import BROKEN, INTACT, UNCLEAR, check, remedy

__all__ = ["BROKEN", "INTACT", "UNCLEAR", "check", "exit_code", "remedy"]


def exit_code(verdicts: set[str]) -> int:
    """0 when all are intact, 1 when one is not, 3 when one cannot be judged."""
    if BROKEN in verdicts:
        return ENDED_BADLY
    return COULD_NOT_POLL if UNCLEAR in verdicts else FINE
