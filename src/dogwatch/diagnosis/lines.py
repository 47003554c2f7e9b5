"""Lines of a log as text: where they begin and end in the bytes, without terminal codes, never longer than asked."""

from __future__ import annotations

import re

# Two passes of bounded patterns: a log may be made of nothing but the beginnings of escape sequences.
_CODES = re.compile(rb"\x1b\[[0-?]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b\n]{0,80}(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")


def decoded(text: bytes, start: int, stop: int) -> str:
    """The text between two places, as it would stand on a terminal."""
    part = text[start:stop]
    if b"\x1b" in part:
        part = _CODES.sub(b"", part)
    return part.decode("utf-8", "replace")


def line_end(text: bytes, start: int, end: int) -> int:
    """Where the line that begins at `start` ends, its newline left out."""
    found = text.find(b"\n", start, end)
    return end if found < 0 else found


def segment(text: bytes, at: int, begin: int, end: int, around: int) -> tuple[int, int]:
    """The line around a place between two others, cut where it reaches too far; a carriage return begins one."""
    floor, roof = max(begin, at - around), min(end, at + 2 * around)
    start = max(text.rfind(b"\n", floor, at), text.rfind(b"\r", floor, at)) + 1 or floor
    stops = [stop for stop in (text.find(b"\n", at, roof), text.find(b"\r", at, roof)) if stop >= 0]
    return start, min(stops, default=roof)
