"""Which of all the literals that formats and causes search for are in a text: one pass for all of them.

Every table of literals joins one database of the fast engine. The first search of a stretch of text pays for the pass,
and its result is kept for the next. Without the fast engine each table is searched by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dogwatch.logs import scan
from dogwatch.logs.distinct_lines import DistinctLines, distinct_lines, is_worth_it, line_ends, without_digits

MOST_PLACES = 1024  # of a stretch that are told one by one
LEAST = 1 << 16  # bytes of a piece that is worth keeping


class Table:
    """Rows of literals (lower case). With `every`, each place of theirs matters; otherwise only what is there. One that
    begins with a line end is at the beginning of a line."""

    def __init__(self, rows: Mapping[int, Iterable[bytes]], every: bool = False) -> None:
        of: dict[bytes, list[int]] = {}
        for number, literals in rows.items():
            for literal in literals:
                of.setdefault(literal, []).append(number)
        self.literals, self._of, self.every = tuple(of), list(of.values()), every
        self._numbers = {literal: number for number, literal in enumerate(of)}
        self._leading = {literal[1:]: number for literal, number in self._numbers.items() if literal.startswith(b"\n")}
        self.longest = max(map(len, self.literals), default=0)
        self._set: Any = None
        _tables.append(self)

    def present(self, search: TextSearch, start: int, end: int) -> dict[int, tuple[bytes, ...]]:
        """The rows of which something is between two places, where lines begin, by number, each with what of it is
        there."""
        if scan.fast():
            there = search.stretch(start, end).there
            hits = {self._numbers[literal] for literal in there if literal in self._numbers}
        else:
            if self._set is None:
                self._set = scan.literals(self.literals)
            hits = set(self._set.Match(memoryview(search.text)[max(0, start - 1) : end]) or ())
        if not start:
            opening = search.text[: self.longest].lower()
            hits |= {number for literal, number in self._leading.items() if opening.startswith(literal)}
        rows: dict[int, tuple[bytes, ...]] = {}
        for hit in sorted(hits):
            for number in self._of[hit]:
                rows[number] = (*rows.get(number, ()), self.literals[hit])
        return rows


_tables: list[Table] = []


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is between two places of a text (or begins a little before): the literals that are there, and the places
    just behind those of which every one matters; None where they are very many."""

    start: int
    end: int
    there: frozenset[bytes]
    behind: list[int] | None


class TextSearch:
    """A text that is searched stretch by stretch; where it is not `shared`, positions are not needed."""

    def __init__(self, text: bytes, shared: bool = True) -> None:
        self.text, self.size, self._shared = text, len(text), shared
        self._seen: dict[tuple[int, int, int], Stretch] = {}

    def stretch(self, start: int, end: int) -> Stretch:
        asked = (start, end, len(_tables))
        if asked not in self._seen:
            self._seen[asked] = _scan_stretch(self.text, start, end, self._shared)
        return self._seen[asked]

    def behind(self, start: int, end: int) -> list[int] | None:
        """The places behind what matters everywhere, after `start` and up to `end`, in order; None where they are
        very many, and without the fast engine, which alone can tell so in one pass."""
        if not scan.fast():
            return None
        parts: list[Stretch] = []
        at = start
        for seen in sorted(self._seen.values(), key=lambda each: (each.start, -each.end)):
            if at < seen.end and seen.start < end:
                parts += [self.stretch(at, seen.start), seen] if at < seen.start else [seen]
                at = seen.end
        if at < end:
            parts.append(self.stretch(at, end))
        ends: list[int] = []
        for part in parts:
            if part.behind is None:
                return None
            ends += part.behind[bisect_right(part.behind, max(start, ends[-1] if ends else 0)) :]
        return ends[: bisect_right(ends, end)]


class DistinctLinesSearch:
    """A text of which only the distinct lines are searched."""

    def __init__(self, lines: DistinctLines) -> None:
        self.size, self._lines = lines.size, lines
        self._found: tuple[int, list[tuple[int, int]] | None] | None = None

    def behind(self, start: int, end: int) -> list[int] | None:
        """As of a text, but for a line that may hold what matters everywhere there is one place, as far behind its
        beginning as the longest of it is long."""
        if self._found is None:
            pattern, longest = _everywhere(len(_tables))
            bare = without_digits(self._lines.copy)
            ends = scan.linear_places(pattern, bare, 0, len(bare)) if pattern else []
            self._found = longest, self._lines.lines_like(end - 1 for end in ends)
        longest, lines = self._found
        if lines is None:
            return None
        among = lines[bisect_right(lines, start, key=lambda line: line[1]) :]
        return [min(until, end, max(since, start) + longest) for since, until in among if since < end]


class PieceSearch:
    """What a search of a text found in a piece of it that begins `before` bytes after the text. Only its
    line ends may be others there, and its last line may be missing."""

    def __init__(self, piece: bytes, search: TextSearch | DistinctLinesSearch, before: int) -> None:
        self.piece, self._search, self._before = piece, search, before

    def behind(self, start: int, end: int) -> list[int] | None:
        """As of a TextSearch, between two places of the piece."""
        read = min(end, self._search.size - self._before)
        ends = self._search.behind(start + self._before, read + self._before) if start < read else []
        rest = TextSearch(self.piece).behind(max(start, read), end) if read < end else []
        if ends is None or rest is None:
            return None
        return [place - self._before for place in ends] + rest


_last: PieceSearch | None = None


def keep_search(search: TextSearch | DistinctLinesSearch, before: int, piece: bytes) -> None:
    """Keep the search of a long piece for its next reader."""
    global _last
    _last = PieceSearch(piece, search, before) if len(piece) >= LEAST else None


def search_piece(piece: bytes) -> PieceSearch:
    """The kept search of a piece, which is handed out once; else a new one."""
    global _last
    kept, _last = _last, None
    if kept is not None and kept.piece is piece:
        return kept
    lines = distinct_lines(piece, 0, line_ends(piece)[1]) if is_worth_it(len(piece)) else None
    if lines is not None:
        return PieceSearch(piece, DistinctLinesSearch(lines), 0)
    scan.expect(len(piece))
    return PieceSearch(piece, TextSearch(piece), 0)


def _scan_stretch(text: bytes, start: int, end: int, shared: bool) -> Stretch:
    """One pass over a stretch, and over as much before it as a literal can begin in."""
    once, every, longest = _joint(len(_tables))
    every = every if shared else ()
    begin = max(0, start - longest)
    there: set[bytes] = set()
    behind: list[int] = []

    def tell(number: int, at: int, ended: int, *more: object) -> bool:
        if number < len(once):
            there.add(once[number])
        elif begin + ended > max(start, behind[-1] if behind else 0):  # several may end at one place
            behind.append(begin + ended)
        return len(behind) > MOST_PLACES

    whole = scan.through(scan.literal_database(once, every), text, begin, end, tell)
    if not whole and once:  # so many that nobody wants to know where; the others are looked for by themselves
        behind.clear()
        scan.through(scan.literal_database(once, ()), text, begin, end, tell)
    return Stretch(start, end, frozenset(there), behind if whole else None)


@lru_cache(1)
def _everywhere(tables: int) -> tuple[bytes, int]:
    """A pattern for the literals of which every place matters, their digits made 0, and how long the longest is."""
    every = [literal for table in _tables if table.every for literal in table.literals]
    bare = dict.fromkeys(without_digits(literal) for literal in every)
    return b"|".join(map(re.escape, bare)), max(map(len, every), default=0)


@lru_cache(1)
def _joint(tables: int) -> tuple[tuple[bytes, ...], tuple[bytes, ...], int]:
    """The literals of all tables, each once: those that are there or not, and those of which every place matters."""
    once = dict.fromkeys(literal for table in _tables if not table.every for literal in table.literals)
    every = dict.fromkeys(literal for table in _tables if table.every for literal in table.literals)
    return tuple(once), tuple(every), max((table.longest for table in _tables), default=0)
