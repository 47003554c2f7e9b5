"""Check: whether files are whole, asked by hand."""

from __future__ import annotations

from dogwatch.errors import COULD_NOT_LOOK, ENDED_BADLY, FINE
from dogwatch.results.sound import BROKEN, SOUND, UNCLEAR, check, check_globs, remedy

__all__ = ["BROKEN", "SOUND", "UNCLEAR", "check", "check_globs", "exit_code", "remedy"]


def exit_code(verdicts: set[str]) -> int:
    """0 when all are sound, 1 when one is not, 3 when one cannot be judged."""
    if BROKEN in verdicts:
        return ENDED_BADLY
    return COULD_NOT_LOOK if UNCLEAR in verdicts else FINE
