"""The table of causes and the one question asked of it: what does this line show?

A new cause is a new row in the `rows_…` file of its family; nothing here needs to change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dogwatch.causes import rows_code, rows_files, rows_gpu, rows_memory, rows_network, rows_scheduler
from dogwatch.causes.consequences import consequences
from dogwatch.causes.interface import Cause, Role, Sign, searcher

CAUSES: dict[str, Cause] = {
    cause.name: cause
    for module in (rows_memory, rows_scheduler, rows_gpu, rows_network, rows_files, rows_code)
    for cause in module.rows
}


@dataclass(frozen=True, slots=True)
class Match:
    """What a line shows: the cause (none for a mere consequence), its part in the fall, and how sure that is."""

    cause: str
    role: Role
    weight: float
    fatal: bool
    raised: bool


@dataclass(frozen=True, slots=True)
class _Row:
    stem: str
    search: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    match: Match


def _row(cause: str, role: Role, sign: Sign) -> _Row:
    return _Row(
        sign.stem,
        searcher(sign.pattern) if sign.pattern else None,
        searcher(sign.unless) if sign.unless else None,
        Match(cause, sign.role or role, sign.weight, sign.fatal, sign.raised),
    )


_ROWS = sorted(
    [
        *(_row(cause.name, cause.role, sign) for cause in CAUSES.values() for sign in cause.signs),
        *(_row("", Role.CASCADE, sign) for sign in consequences),
    ],
    key=lambda row: -row.match.weight,
)


def classify(text: str, raised: bool = False) -> Match | None:
    """The surest sign in a line of text; signs of exceptions count only where one was `raised`."""
    low = text.lower()
    for row in _ROWS:
        if row.stem not in low or (row.match.raised and not raised):
            continue
        if row.search is not None and not row.search.search(text):
            continue
        if row.unless is not None and row.unless.search(text):
            continue
        return row.match
    return None


def stems(raised: bool = False) -> tuple[str, ...]:
    """The literals, one of which is in every line that shows something: without those that another one holds,
    and without those of exceptions (unless asked for), which are found by their traceback."""
    wanted = {row.stem for row in _ROWS if raised or not row.match.raised}
    return tuple(sorted(stem for stem in wanted if not any(other != stem and other in stem for other in wanted)))
