"""What a log says again. The lines that a program says once, as it starts: where two of them stand again, one after the
other, it was started again. And the line right above some trouble: where it stands again below, that is no old text.

What a dying program had printed and not yet written out lands below its traceback, and what it had written out before
ends in the middle of a line, or just before its line end. So a whole line of its own above the traceback shows that
nothing was held back.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

from dogwatch.logs.ending.activity import LOGGER, PROGRESS
from dogwatch.logs.lazily import lazily

LINES = 48  # that are kept
BYTES = 16384  # in which they stand
LEAST = 3  # of them after which the first one again is another start
LETTERS = 12  # of a line that tells anything
LINE = 240  # bytes of one line that are read
SOON = 2048  # bytes after some trouble within which a new start says them
SURE = 2  # of them in lines that are written out at once
OTHERS = 4096  # bytes below a program that fell before it began, which only another can have said
BETWEEN = 512  # bytes between two tracebacks of one fall

IMPORTS = lazily(rb"\s{1,12}(?:import \S|from \S{1,120} import )")  # a line of code before which nothing began
_OVER = lazily(
    rb"traceback|error|exception|kill|cancel|abort|fault|fatal|terminat|signal|interrupt|out of memory|no space"
)
_USAGE = lazily(rb"^\S{1,200}\.py: error: ")  # below all that its start said: how it is to be called
_LOGGED = lazily(rb"^.{0,50}\d\d:\d\d:\d\d.{0,60}\b(?:error|warning|critical)\b")  # which a program may survive
_WORDS = lazily(rb"[^a-z\x80-\xff]{1,400}")
_CALENDAR = lazily(
    rb"\b(?:(?:mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    rb"|[ap]m|utc|gmt|ce?s?t|e[sde]s?t|[mpj][sd]t)\b ?"
)


class Opening:
    """Hears a log from its beginning, and keeps its first lines up to the first progress or trouble. A start that fell
    before it said much is none: what the next one says first counts."""

    def __init__(self, shapes: Sequence[int] = (), left: int = BYTES) -> None:
        self._shapes = list(shapes)
        self._left = left  # bytes that may still belong to it

    @property
    def wants(self) -> bool:
        """Whether more may belong to it."""
        return self._left > 0

    def feed(self, low: bytes) -> None:
        """Take the next whole lines, lower-cased."""
        low = low[: self._left]
        for line in low.splitlines():
            head = line[:LINE]
            if _OVER.search(head):
                if _LOGGED.search(head):
                    continue
                if len(self._shapes) < LEAST or _USAGE.search(head):
                    self._shapes.clear()
                    continue
                self._left = 0
                return
            if len(self._shapes) == LINES or PROGRESS.search(head):
                self._left = 0
                return
            within = not self._shapes and line[:1] in (b" ", b"\t")  # a traceback
            if not within and (shape := wording(line)):
                if len(self._shapes) >= LEAST and shape == self._shapes[0]:
                    self._left = 0
                    return
                self._shapes.append(shape)
        self._left -= len(low)

    def again(self, low: bytes) -> Iterator[int]:
        """Where in lower-cased text the second of two of its lines begins that follow each other as they did there."""
        order = {shape: at for at, shape in enumerate(self._shapes) if self._shapes.count(shape) == 1}
        before, place = len(self._shapes), 0
        for line in low.splitlines(keepends=True):
            if shape := wording(line):
                here = order.get(shape, -1)
                if here > before:
                    yield place
                before = here if here >= 0 else len(self._shapes)
            place += len(line)

    def surely_again(self, low: bytes) -> int:
        """How many of those are lines that a logger wrote out at once. Two show a new start without more."""
        lines = (low[place : low.find(b"\n", place)][:LINE] for place in self.again(low))
        return sum(LOGGER.search(line) is not None for line in lines)

    def copy(self) -> Opening:
        """One that hears on by itself."""
        return Opening(self._shapes, self._left)

    def state(self) -> list[int]:
        """All that is known, as JSON can carry it."""
        return [self._left, *self._shapes]

    @classmethod
    def restore(cls, state: Sequence[int]) -> Opening:
        """One that goes on where the one that gave `state` stopped."""
        return cls(state[1:], state[0]) if state else cls(left=0)


def times_said(what: int, low: bytes) -> int:
    """How many lines of lower-cased text say that; none where it is nothing."""
    return sum(wording(line) == what for line in low.splitlines()) if what else 0


def wording(line: bytes) -> int:
    """What a lower-cased line says, numbers, signs and dates aside; 0 for one that says too little."""
    words = _CALENDAR.sub(b"", _WORDS.sub(b" ", line[:LINE])).strip()
    return zlib.crc32(words) if len(words) >= LETTERS else 0
