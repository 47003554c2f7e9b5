"""Which lines of a text say what a row of ending words describes."""

from __future__ import annotations

import re
from functools import cache

from dogwatch.logs import scan
from dogwatch.logs.ending.quoted_errors import is_quoted, mentioned
from dogwatch.logs.ending.words import COMPLAINT, CRASHED, EARLY, FAILED, GONE, NAMED, PLAIN, ROWS, TOLD, Row

WINDOW = 600  # bytes of a long line on either side of a needle
TRIES = 200  # lines with a needle that are read before a row gives up
LONG = 1 << 15  # bytes of a text in which all literals are looked for in one pass
FEW = 8  # of these, that are read before a faster engine is asked about the others

_NOT_YET = re.compile(
    rb"(?<![a-z_])(?:not|never|before|until|when|once|if|(?<!at )(?:epoch|step)|will|to be|each|every|should)(?![a-z_])"
)
_AT_A_PROMPT = re.compile(
    rb"-[a-z]{0,3}sh: (?!line \d)"
)  # a login shell answers who types; a script's lines have numbers
_AFTERWARDS = re.compile(rb"(?<![a-z_])after(?![a-z_])")  # means it of what follows the word alone


def rows_in(low: bytes) -> list[Row]:
    """The rows of which the literal is in a text, in their order."""
    rows = PLAIN if low.isascii() else ROWS
    if len(low) < LONG:
        return [row for row in rows if row.needle in low]
    there = set(scan.literals(row.needle for row in rows).Match(low) or ())
    return [row for number, row in enumerate(rows) if number in there]


def newest(low: bytes, row: Row, end: int | None = None) -> int:
    """Where the newest line starts, before `end`, that a row describes; -1 when there is none."""
    here = low.rfind(row.needle, 0, len(low) if end is None else end)
    for count in range(TRIES):
        if here < 0:
            return -1
        start = low.rfind(b"\n", 0, here) + 1
        if (count < FEW or _may_say(low, row, start, here)) and _says(low, row, start, here):
            return start
        here = low.rfind(row.needle, 0, start)
    return -1


def oldest(low: bytes, row: Row) -> int:
    """The same of the oldest; asked only of a row that describes one."""
    here = low.find(row.needle)
    while here >= 0:
        start = low.rfind(b"\n", 0, here) + 1
        if _says(low, row, start, here):
            return start
        here = low.find(row.needle, low.find(b"\n", here))
    return 0


def _line(low: bytes, start: int, here: int) -> bytes:
    end = low.find(b"\n", here)
    if end - start > 2 * WINDOW:
        start, end = max(start, here - WINDOW), min(end, here + WINDOW)
    return low[start:end]


def _may_say(low: bytes, row: Row, start: int, here: int) -> bool:
    """Whether the line says what the row describes, but for what the row looks around for."""
    line = _line(low, start, here)
    return scan.first(_loose(row.pattern.pattern), line, 0, len(line)) is not None


@cache
def _loose(pattern: bytes) -> bytes:
    return scan.loose(pattern)


def _says(low: bytes, row: Row, start: int, here: int) -> bool:
    """Whether the line says it of the whole run: not of an epoch, not as a condition, not as an intention."""
    line = _line(low, start, here)
    found = row.pattern.search(line)
    if not found or (row.kind == COMPLAINT and _AT_A_PROMPT.match(line)):
        return False
    if row.kind in (FAILED, CRASHED, GONE, TOLD, COMPLAINT, NAMED):
        text, begin = line.decode("utf-8", "replace"), len(line[: found.start()].decode("utf-8", "replace"))
        return not is_quoted(text[:begin]) and not mentioned(
            text, begin, begin + len(found[0].decode("utf-8", "replace"))
        )
    if row.kind == EARLY:
        return True
    near = max(0, found.start() - 40, line.rfind(b". ", 0, found.start()))
    if _AFTERWARDS.search(line, near, found.start()):
        return False
    doubt = _NOT_YET.search(line, near, found.end() + 24)
    return doubt is None or doubt[0] in row.needle
