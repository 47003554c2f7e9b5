"""The table of causes and the one question asked of it: what does this line show?

A new cause is a new row in the `rows_…` file of its family; nothing here needs to change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

import re2

from dogwatch.diagnosis.catalog import (
    code,
    environment,
    files,
    gpu,
    launch,
    memory,
    network,
    numbers,
    ranks,
    scheduler,
    tensors,
)
from dogwatch.diagnosis.interface import Cause, Pattern, Role
from dogwatch.diagnosis.launcher_messages import consequences
from dogwatch.logs.scan import without_lookaround

MOST_TOGETHER = 24  # patterns that are asked at once: a set of very many is slow to make, and RE2 may refuse it

CAUSES: dict[str, Cause] = {
    cause.name: cause
    for module in (
        memory,
        scheduler,
        launch,
        gpu,
        numbers,
        ranks,
        network,
        tensors,
        files,
        environment,
        code,
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


def _row(cause: str, role: Role, pattern: Pattern) -> _Row:
    return _Row(
        tuple(pattern.stem.split("|")),
        pattern.pattern,
        pattern.unless,
        Match(cause, pattern.role or role, pattern.weight, pattern.fatal, pattern.raised, pattern.many, pattern.ends),
        pattern.first,
        pattern.frame,
    )


_ROWS = sorted(
    [
        *(_row(cause.name, cause.role, pattern) for cause in CAUSES.values() for pattern in cause.patterns),
        *(_row("", Role.CASCADE, pattern) for pattern in consequences),
    ],
    key=lambda row: (not row.first, -row.match.weight),
)


@cache
def _stem_set() -> tuple[re2.Set, list[list[int]]]:
    """A set that finds every literal of the table in one pass, and which rows each of them belongs to. It takes two
    megabytes, and most logs never say anything that it is asked about."""
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


def classify(text: str, raised: bool = False, frame: str = "") -> Match | None:
    """The surest sign in a line of text; signs of exceptions count only where one was `raised`, some of them only in
    their `frame`."""
    raw = text.encode("utf-8", "replace")
    stems_of_table, _ = _stem_set()
    for row in _rows_that_match(tuple(sorted(stems_of_table.Match(raw) or ())), raw):
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


def _rows_that_match(stems: tuple[int, ...], raw: bytes) -> list[_Row]:
    """The rows that some literals belong to, the surest first, without those whose pattern is surely not there."""
    rows, found = _rows_of(stems)
    if found is None:
        return rows
    there = set(found.Match(raw) or ())
    return [row for number, row in enumerate(rows) if number in there]


@lru_cache(64)
def _rows_of(stems: tuple[int, ...]) -> tuple[list[_Row], re2.Set | None]:
    """The rows that some literals belong to, and their patterns as one set, where they are a few. Logs say the same
    thing again and again, with the same few literals."""
    _, rows_of_stem = _stem_set()
    rows: list[_Row] = [_ROWS[number] for number in sorted({number for stem in stems for number in rows_of_stem[stem]})]
    if not 2 <= len(rows) <= MOST_TOGETHER:
        return rows, None
    options = _options()
    options.max_mem = 32 << 20
    found = re2.Set.SearchSet(options)
    for row in rows:
        found.Add(without_lookaround(row.pattern.encode()))
    found.Compile()
    return rows, found


def _options() -> re2.Options:
    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    return options


def _matches(pattern: str, text: str, raw: bytes) -> bool:
    """Whether a pattern matches, by an engine that is fast on any text; the other is asked only of a pattern that
    looks around, and only where it would match if it did not."""
    linear, lookaround = _compiled(pattern)
    return linear.search(raw) is not None and (lookaround is None or lookaround.search(text) is not None)


@cache
def _compiled(pattern: str) -> tuple[re2._Regexp, re.Pattern[str] | None]:
    """Compiled when first needed: most logs need few of them."""
    plain = without_lookaround(pattern.encode())
    lookaround = re.compile(pattern, re.IGNORECASE | re.ASCII) if plain != pattern.encode() else None
    return re2.compile(plain, _options()), lookaround


def stems(raised: bool = False) -> tuple[str, ...]:
    """The literals, one of which is in every line that shows something: without those that another one holds,
    and without those of exceptions (unless asked for), which are found by their traceback."""
    wanted = {stem for row in _ROWS if raised or not row.match.raised for stem in row.stems}
    listed = "\n".join(wanted)
    parts = [stem for stem in wanted if listed.count(stem) > 1]
    return tuple(sorted(stem for stem in wanted if not any(part != stem and part in stem for part in parts)))
