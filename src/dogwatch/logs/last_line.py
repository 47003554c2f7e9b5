"""The kind of line at which a log stands: its first words, without what differs from one such line to the next."""

from __future__ import annotations

import re
from zlib import crc32

REACH = 4096  # bytes before the end in which the last line begins, and in a line the words that tell its kind
LONGEST, MOST_WORDS = 300, 12
_WORD = re.compile(rb"[A-Za-z_\x80-\xff]{2,}")
_END = re.compile(rb"[\r\n]")


def kind(text: bytes) -> str:
    """A short name of the kind of the last line of what was written. One that is not whole counts only where there is
    no other: what is flushed by the block ends anywhere."""
    *whole, rest = _END.split(text[-REACH:])
    line = next((line for line in reversed(whole) if line.strip()), rest)[:LONGEST]
    named = [token.partition(b"=")[0] for token in line.split() if b"/" not in token and b"\\" not in token]
    words = [word.lower() for name in named for word in _WORD.findall(name)][:MOST_WORDS]
    return f"{crc32(b' '.join(words)):08x}" if line.strip() else ""
