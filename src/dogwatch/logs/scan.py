"""Looking for many literals and patterns in a long text at once, in bytes and without case.

Two engines with one promise: whatever is there is found. They may name a place too many, never one too few, so which
engine is there changes the speed and nothing that is read. RE2 is always there; Hyperscan (the extra `fast`) is
loaded when much text has come.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

MUCH = 16 << 20  # bytes after which the fast engine has paid for being loaded
MOST_PATTERNS = 256  # kept compiled
MOST_PLACES = 1024  # that are told one by one
_REPEAT = re.compile(rb"(?<!\\)\{(\d+),\d*\}\??")
_LOOKS = (b"(?=", b"(?!", b"(?<=", b"(?<!")
_lock = Lock()  # a database of Hyperscan has room for one scan at a time
_seen = 0
_preferred: bool | None = None


@cache
def hyperscan() -> Any:
    """The module of the extra `fast`; None where it is not installed."""
    try:
        return import_module("hyperscan")
    except ImportError:
        return None


def expect(size: int) -> None:
    """So many bytes more are going to be looked through."""
    global _seen
    _seen += size


def prefer(fast: bool | None) -> None:
    """Use the one engine or the other from now on, to compare them; None: whichever is better."""
    global _preferred
    _preferred = fast


def _fast() -> bool:
    wanted = _seen >= MUCH if _preferred is None else _preferred
    return wanted and hyperscan() is not None


def loose(pattern: bytes) -> bytes:
    """A pattern that both engines take and that matches wherever this one does: it does not look around, and its
    repeats have no upper bound, which is much cheaper."""
    return _REPEAT.sub(lambda repeat: b"*" if repeat[1] == b"0" else b"+", without_looks(pattern))


def without_looks(pattern: bytes) -> bytes:
    """The pattern without what it looks around for; it matches wherever it did, and perhaps elsewhere."""
    out, at, depth, looks = bytearray(), 0, 0, 0
    within = False  # a class, where parentheses mean themselves
    while at < len(pattern):
        part = pattern[at : at + 2] if pattern[at : at + 1] == b"\\" else pattern[at : at + 1]
        if part == b"(" and not within:
            depth += 1
            if not looks and pattern[at : at + 4].startswith(_LOOKS):
                looks = depth
        if not looks:
            out += part
        if part == b"[" and not within:
            within = True
            if pattern[at + 1 : at + 2] in (b"^", b"]"):  # which belongs to the class
                part = pattern[at : at + 2]
                out += b"" if looks else part[1:]
        elif part == b"]":
            within = False
        elif part == b")" and not within:
            if looks == depth:
                looks = 0
            depth -= 1
        at += len(part)
    return bytes(out)


def places(pattern: bytes, text: bytes, start: int, end: int) -> list[int]:
    """Where the matches of a (loose) pattern between two places end, in order."""
    ends: list[int] = []
    if _fast():
        _scan(_database((pattern,), False, False), text, start, end, lambda _, a, b, *more: ends.append(start + b))
        return ends
    search = _linear(pattern).search
    while start < end and (hit := search(text, start, end)) is not None:
        start = max(hit.end(), start + 1)
        ends.append(hit.end())
    return ends


def first(pattern: bytes, text: bytes, start: int, end: int) -> int | None:
    """Where the first match of a (loose) pattern between two places ends."""
    if not _fast():
        hit = _linear(pattern).search(text, start, end)
        return None if hit is None else hit.end()
    ends: list[int] = []
    _scan(_database((pattern,), False, True), text, start, end, lambda _, a, b, *more: ends.append(start + b))
    return ends[0] if ends else None


class Table:
    """Rows of literals (lower case), all of which are looked for in one pass."""

    def __init__(self, rows: Mapping[int, Iterable[bytes]]) -> None:
        of: dict[bytes, list[int]] = {}
        for number, literals in rows.items():
            for literal in literals:
                of.setdefault(literal, []).append(number)
        self._literals, self._of = tuple(of), list(of.values())
        self._set: Any = None
        self.longest = max(map(len, self._literals), default=0)

    def present(self, text: bytes, start: int, end: int) -> dict[int, tuple[bytes, ...]]:
        """The rows of which something is between two places, by number, each with what of it is there."""
        hits: list[int]
        if _fast():
            hits = []
            database = _database(self._literals, True, True)
            _scan(database, text, start, end, lambda number, *_: hits.append(number))
        else:
            if self._set is None:
                self._set = _linear_set(map(re.escape, self._literals))
            hits = self._set.Match(memoryview(text)[start:end]) or []
        there: dict[int, tuple[bytes, ...]] = {}
        for hit in sorted(hits):
            for number in self._of[hit]:
                there[number] = (*there.get(number, ()), self._literals[hit])
        return there

    def ends(self, text: bytes, start: int, end: int) -> Ends | None:
        """Where they stand; None where they are very many, and without the fast engine, which alone can tell so in
        one pass."""
        if not _fast():
            return None
        ends: list[int] = []

        def tell(number: int, begin: int, behind: int, *more: object) -> bool:
            ends.append(start + behind)
            return len(ends) > MOST_PLACES

        try:
            _scan(_database(self._literals, True, False), text, start, end, tell)
        except hyperscan().ScanTerminated:
            return None
        return Ends(ends)


class Ends:
    """The places just behind what was found, in order."""

    def __init__(self, ends: list[int]) -> None:
        self._ends = ends

    def after(self, place: int) -> int | None:
        """The first of them behind this place."""
        at = bisect_left(self._ends, place + 1)
        return self._ends[at] if at < len(self._ends) else None


def _scan(database: Any, text: bytes, start: int, end: int, tell: Any) -> None:
    with _lock:
        database.scan(memoryview(text)[start:end], match_event_handler=tell)


@lru_cache(MOST_PATTERNS)
def _database(expressions: tuple[bytes, ...], literal: bool, once: bool) -> Any:
    """What Hyperscan looks for these with; `once`: it tells of each of them only that it is there."""
    engine = hyperscan()
    database = engine.Database(mode=engine.HS_MODE_BLOCK)
    flags = engine.HS_FLAG_CASELESS | (engine.HS_FLAG_SINGLEMATCH if once else 0)
    database.compile(
        expressions=list(expressions),
        ids=list(range(len(expressions))),
        elements=len(expressions),
        flags=flags,
        literal=literal,
    )
    return database


@lru_cache(MOST_PATTERNS)
def _linear(pattern: bytes) -> Any:
    import re2

    return re2.compile(pattern, _options())


def _linear_set(patterns: Iterable[bytes]) -> Any:
    import re2

    made = re2.Set.SearchSet(_options())
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    return made


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = 64 << 20
    return options
