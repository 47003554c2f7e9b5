"""The kind of line at which a log stands: its first words, without what differs from one such line to the next."""

from __future__ import annotations

import re
from functools import lru_cache
from zlib import crc32

from dogwatch.logs.distinct_lines import without_digits

WINDOW = 4096  # bytes before the end in which the last line begins
# Characters of a line, and words of those, that tell its kind.
LONGEST, MOST_WORDS = 300, 12
_WORD = re.compile(rb"[a-z_\x80-\xff]{2,}")
_BAR = re.compile(rb"\xe2[\x94-\x97][\x80-\xbf]")  # lines and blocks (U+2500 to U+25FF), of which bars are drawn


def kind(text: bytes) -> str:
    """A short name of the kind of the last line of what was written. One that is not whole counts only where there is
    no other: what is flushed by the block ends anywhere."""
    tail = text[-WINDOW:]
    ended = _end(tail)
    whole = tail[:ended].rstrip()
    line = whole[_end(whole) :] or tail[ended:]
    return _kind(without_digits(line[:LONGEST]))


@lru_cache(256)
def _kind(line: bytes) -> str:
    """The kind of a line, whose digits tell nothing: most are the last one with other numbers."""
    line = _BAR.sub(b" ", line)
    named = [token.partition(b"=")[0] for token in line.split() if b"/" not in token and b"\\" not in token]
    words = _WORD.findall(b" ".join(named).lower())[:MOST_WORDS]
    return f"{crc32(b' '.join(words)):08x}" if line.strip() else ""


def _end(lines: bytes) -> int:
    """Where the last line that is whole ends."""
    return max(lines.rfind(b"\n"), lines.rfind(b"\r")) + 1
