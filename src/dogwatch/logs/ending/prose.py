"""Whether a text was written to be read, as a README is: what it says of endings is about others."""

from __future__ import annotations

import re

BYTES = 16384  # of a text that are looked at
LEAST = 3  # headings, one of them the first line

_HEADING = re.compile(rb"#{1,4} [a-z\x80-\xff\[(`\"'*]")


class Prose:
    """Hears a text from its beginning, and counts its headings. Two of the same level, one right below the other, are
    none: remarks, as the head of a batch job has them; and one right below words is what a script prints above its next
    part."""

    def __init__(self) -> None:
        self._left, self._headings = BYTES, 0
        self._level = 0  # of the last line, if it is a heading; 0 where it was empty, less where it said something

    @property
    def wants(self) -> bool:
        """Whether more may tell."""
        return self._left > 0 and self._headings < LEAST

    def __bool__(self) -> bool:
        return self._headings >= LEAST

    def feed(self, low: bytes) -> None:
        """Take the next whole lines, lower-cased."""
        low = low[: self._left]
        for line in low.splitlines():
            level = line.index(b" ") if _HEADING.match(line) else 0
            if level and level == self._level:
                self._left = self._headings = 0
                return
            below_words, self._level = self._level < 0, level or -bool(line.strip())
            if level:
                self._headings += not below_words
            elif line.strip() and not self._headings:
                self._left = 0  # something else stands first
                return
        self._left -= len(low)
