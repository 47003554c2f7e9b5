"""Looking for many literals and patterns in a long text at once, in bytes and without case.

Two engines with one promise: whatever is there is found. They may name a place too many, never one too few, so which
engine is there changes the speed and nothing that is read. RE2 is always there; Hyperscan (the extra `fast`) is
loaded when much text has come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

MUCH = 16 << 20  # bytes after which the fast engine has paid for being loaded
SHORT = 1 << 14  # bytes in which a pattern is looked for by RE2 before all of a text is
PAYS = 1 << 22  # bytes that RE2 looks through in the time in which a pattern is compiled for the fast engine
MOST_PATTERNS = 256  # kept compiled
_REPEAT = re.compile(rb"(?<!\\)\{(\d+),\d*\}\??")
_LOOKAROUND = (b"(?=", b"(?!", b"(?<=", b"(?<!")
_lock = Lock()  # a database of Hyperscan has room for one scan at a time
_seen = 0
_asked: dict[tuple[bytes, ...], int] = {}  # bytes in which RE2 looked for these patterns instead of the fast engine
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


def pays(patterns: tuple[bytes, ...], size: int) -> bool:
    """Whether the fast engine looks for these patterns in so many bytes more: not before RE2 looked for them in as many
    as pay for compiling them."""
    if not fast():
        return False
    if _preferred or (asked := _asked.get(patterns, 0)) >= PAYS:
        return True
    if len(_asked) >= MOST_PATTERNS:
        _asked.clear()
    _asked[patterns] = asked + size
    return False


def fast() -> bool:
    """Whether the fast engine is used now."""
    wanted = _seen >= MUCH if _preferred is None else _preferred
    return wanted and hyperscan() is not None


def loose(pattern: bytes) -> bytes:
    """A pattern that both engines take and that matches wherever this one does: it does not look around, and its
    repeats have no upper bound, which is much cheaper."""
    return _REPEAT.sub(lambda repeat: b"*" if repeat[1] == b"0" else b"+", without_lookaround(pattern))


def without_lookaround(pattern: bytes) -> bytes:
    """The pattern without what it looks around for; it matches wherever it did, and perhaps elsewhere."""
    out, at, depth, lookaround = bytearray(), 0, 0, 0
    within = False  # a class, where parentheses mean themselves
    while at < len(pattern):
        part = pattern[at : at + 2] if pattern[at : at + 1] == b"\\" else pattern[at : at + 1]
        if part == b"(" and not within:
            depth += 1
            if not lookaround and pattern[at : at + 4].startswith(_LOOKAROUND):
                lookaround = depth
        if not lookaround:
            out += part
        if part == b"[" and not within:
            within = True
            if pattern[at + 1 : at + 2] in (b"^", b"]"):  # which belongs to the class
                part = pattern[at : at + 2]
                out += b"" if lookaround else part[1:]
        elif part == b"]":
            within = False
        elif part == b")" and not within:
            if lookaround == depth:
                lookaround = 0
            depth -= 1
        at += len(part)
    return bytes(out)


def places(patterns: tuple[bytes, ...], text: bytes, start: int, end: int) -> list[int]:
    """Where the matches of some (loose) patterns between two places end, in order."""
    ends: list[int] = []
    if pays(patterns, end - start):
        through(
            _database(patterns, False),
            text,
            start,
            end,
            lambda number, at, behind, flags, more: ends.append(start + behind),
        )
        return ends
    for pattern in patterns:
        ends += linear_places(pattern, text, start, end)
    return sorted(ends) if len(patterns) > 1 else ends


def linear_places(pattern: bytes, text: bytes, start: int, end: int) -> list[int]:
    """Where the matches of a pattern between two places end, in order, by the engine that is always there."""
    return [hit.end() for hit in _linear(pattern).finditer(text, start, end)] if start < end else []


def first(pattern: bytes, text: bytes, start: int, end: int) -> int | None:
    """Where the first match of a (loose) pattern between two places ends."""
    near = min(end, start + SHORT) if pays((pattern,), end - start) else end
    hit = _linear(pattern).search(text, start, near)
    if hit is not None or near == end:
        return None if hit is None else hit.end()
    ends: list[int] = []

    def tell(number: int, at: int, behind: int, flags: int, more: object) -> bool:
        ends.append(start + behind)
        return True

    through(_database((pattern,), False), text, start, end, tell)
    return ends[0] if ends else None


def few(pattern: bytes, text: bytes, start: int, end: int, most: int) -> list[int] | None:
    """Where the matches of a (loose) pattern between two places end, in order; None where they are more than so many
    (without the fast engine, which alone stops then: where there are any)."""
    ends: list[int] = []
    if not fast():
        return ends if first(pattern, text, start, end) is None else None

    def tell(number: int, at: int, behind: int, flags: int, more: object) -> bool:
        ends.append(start + behind)
        return len(ends) > most

    return ends if through(_database((pattern,), False), text, start, end, tell) else None


def present(patterns: tuple[bytes, ...], text: bytes, start: int, end: int) -> set[int]:
    """Which of some (loose) patterns match between two places, by number. What stands beside those places is looked at
    too, because a pattern may begin or end at a word's edge."""
    if end - start <= SHORT:
        return set(either(patterns).Match(memoryview(text)[max(0, start - 1) : end + 1]) or ())
    if not pays(patterns, end - start):
        return {number for number, pattern in enumerate(patterns) if first(pattern, text, start, end) is not None}
    there: set[int] = set()
    through(_database(patterns, True), text, start, end, lambda number, at, behind, flags, more: there.add(number))
    return there


def through(database: Any, text: bytes, start: int, end: int, tell: Callable[..., bool | None]) -> bool:
    """Tell of what is found between two places: (number, 0, where it ends after `start`, …). False when `tell` had
    enough of it."""
    with _lock:
        try:
            database.scan(memoryview(text)[start:end], match_event_handler=tell)
        except hyperscan().ScanTerminated:
            return False
    return True


@lru_cache(4)
def literal_database(once: tuple[bytes, ...], every: tuple[bytes, ...]) -> Any:
    """What Hyperscan looks for literals with, numbered in this order; of the first ones it tells only that they are
    there."""
    engine = hyperscan()
    flags = [engine.HS_FLAG_CASELESS | engine.HS_FLAG_SINGLEMATCH] * len(once) + [engine.HS_FLAG_CASELESS] * len(every)
    return _compiled((*once, *every), flags, literal=True)


@lru_cache(MOST_PATTERNS)
def _database(patterns: tuple[bytes, ...], once: bool) -> Any:
    engine = hyperscan()
    flags = engine.HS_FLAG_CASELESS | (engine.HS_FLAG_SINGLEMATCH if once else 0)
    return _compiled(patterns, [flags] * len(patterns), literal=False)


def _compiled(expressions: tuple[bytes, ...], flags: list[int], literal: bool) -> Any:
    engine = hyperscan()
    database = engine.Database(mode=engine.HS_MODE_BLOCK)
    count = len(expressions)
    database.compile(
        expressions=list(expressions), ids=list(range(count)), elements=count, flags=flags, literal=literal
    )
    return database


@lru_cache(MOST_PATTERNS)
def _linear(pattern: bytes) -> Any:
    import re2

    return re2.compile(pattern, _options())


def literals(some: Iterable[bytes]) -> Any:
    """What RE2 tells with which of these are in a text."""
    return either(tuple(map(re.escape, some)))


@lru_cache(MOST_PATTERNS)
def either(some: tuple[bytes, ...]) -> Any:
    """Some patterns that are looked for in one pass."""
    import re2

    made = re2.Set.SearchSet(_options())
    for pattern in some:
        made.Add(pattern)
    made.Compile()
    return made


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True  # where a group matched is nobody's question, and costs as much as the search
    options.max_mem = 64 << 20
    return options
