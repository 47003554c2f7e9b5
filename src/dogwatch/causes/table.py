"""The table of causes and the one question asked of it: what does this line show?

A new cause is a new row in the `rows_…` file of its family; nothing here needs to change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import re2

from dogwatch.causes import (
    rows_code,
    rows_environment,
    rows_files,
    rows_gpu,
    rows_launch,
    rows_memory,
    rows_network,
    rows_numbers,
    rows_ranks,
    rows_scheduler,
    rows_tensors,
)
from dogwatch.causes.consequences import consequences
from dogwatch.causes.interface import Cause, Role, Sign
from dogwatch.logs.scan import without_looks

CAUSES: dict[str, Cause] = {
    cause.name: cause
    for module in (
        rows_memory,
        rows_scheduler,
        rows_launch,
        rows_gpu,
        rows_numbers,
        rows_ranks,
        rows_network,
        rows_tensors,
        rows_files,
        rows_environment,
        rows_code,
    )
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
    many: bool = False
    ends: bool = False


# An exception that no row knows is still an error of the program that was left with it.
FALLBACK = Match("code_error", Role.ROOT, 0.6, False, True)
# A traceback that the log does not hold to its end shows that the program fell, and not of what.
CUT_OFF = Match("", Role.CASCADE, 0.4, True, False)


@dataclass(frozen=True, slots=True)
class _Row:
    stems: tuple[str, ...]
    pattern: str
    unless: str
    match: Match
    first: bool
    frame: str


def _row(cause: str, role: Role, sign: Sign) -> _Row:
    return _Row(
        tuple(sign.stem.split("|")),
        sign.pattern,
        sign.unless,
        Match(cause, sign.role or role, sign.weight, sign.fatal, sign.raised, sign.many, sign.ends),
        sign.first,
        sign.frame,
    )


_ROWS = sorted(
    [
        *(_row(cause.name, cause.role, sign) for cause in CAUSES.values() for sign in cause.signs),
        *(_row("", Role.CASCADE, sign) for sign in consequences),
    ],
    key=lambda row: (not row.first, -row.match.weight),
)


def _stem_set() -> tuple[re2.Set, list[list[int]]]:
    """A set that finds every literal of the table in one pass, and which rows each of them belongs to."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.max_mem = 32 << 20
    found = re2.Set.SearchSet(options)
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(_ROWS):
        for stem in row.stems:
            rows.setdefault(stem, []).append(number)
    for stem in rows:
        found.Add(re.escape(stem).encode())
    found.Compile()
    return found, list(rows.values())


_STEMS, _OF_STEM = _stem_set()


def classify(text: str, raised: bool = False, frame: str = "") -> Match | None:
    """The surest sign in a line of text; signs of exceptions count only where one was `raised`, some of them only in
    their `frame`."""
    raw = text.encode("utf-8", "replace")
    found = _STEMS.Match(raw) or ()
    for number in sorted({number for stem in found for number in _OF_STEM[stem]}):
        row: _Row = _ROWS[number]
        if row.match.raised and not raised:
            continue
        if row.frame and not _matches(row.frame, frame, frame.encode("utf-8", "replace")):
            continue
        if row.pattern and not _matches(row.pattern, text, raw):
            continue
        if row.unless and _matches(row.unless, text, raw):
            continue
        return row.match
    return None


def _matches(pattern: str, text: str, raw: bytes) -> bool:
    """Whether a pattern matches, by an engine that is fast on any text; the other is asked only of a pattern that
    looks around, and only where it would match if it did not."""
    linear, looks = _compiled(pattern)
    return linear.search(raw) is not None and (looks is None or looks.search(text) is not None)


@cache
def _compiled(pattern: str) -> tuple[re2._Regexp, re.Pattern[str] | None]:
    """Compiled when first needed: most logs need few of them."""
    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    plain = without_looks(pattern.encode())
    looks = re.compile(pattern, re.IGNORECASE | re.ASCII) if plain != pattern.encode() else None
    return re2.compile(plain, options), looks


def stems(raised: bool = False) -> tuple[str, ...]:
    """The literals, one of which is in every line that shows something: without those that another one holds,
    and without those of exceptions (unless asked for), which are found by their traceback."""
    wanted = {stem for row in _ROWS if raised or not row.match.raised for stem in row.stems}
    listed = "\n".join(wanted)
    parts = [stem for stem in wanted if listed.count(stem) > 1]
    return tuple(sorted(stem for stem in wanted if not any(part != stem and part in stem for part in parts)))
