"""How long a log went on, by the times in its lines. What is dated minutes after some trouble was not said by a program
that died of it."""

from __future__ import annotations

import re

from dogwatch.logs.ending.activity import ENOUGH, LOGGER
from dogwatch.logs.stamps import dated

LONG = 120.0  # seconds in which whoever tidies up after a program that fell has long ended
HEAD = 160  # bytes of a line in which its time stands
TRIES = 64  # lines at either end among which one with a time is looked for
_TELLS = re.compile(rb"\b(?:info|debug)\b")  # those that tidy up warn


def moment(line: bytes) -> tuple[str, float]:
    """The clock that runs in a lower-cased line, and its time there; of none, no name."""
    found = dated(line[:HEAD].decode("utf-8", "replace").upper())
    return next(((clock, found[clock]) for clock in ("wall", "yearless") if clock in found), ("", 0.0))


def duration(low: bytes) -> tuple[float, float]:
    """The seconds from the first to the last line of lower-cased text that has a time; and the same of those that a
    logger wrote, which it does at once: others may have waited in a buffer. Of fewer lines than show life, none."""
    lines = low.splitlines()
    return _seconds(lines), _seconds([line for line in lines if _TELLS.search(line[:HEAD]) and LOGGER.search(line)])


def _seconds(lines: list[bytes]) -> float:
    ends = lines if len(lines) <= 2 * TRIES else lines[:TRIES] + lines[-TRIES:]
    times = [found for found in map(moment, ends) if found[0]]
    if len(times) < ENOUGH:
        return 0.0
    (clock, first), (same, last) = times[0], times[-1]
    return max(0.0, last - first) if clock == same else 0.0
