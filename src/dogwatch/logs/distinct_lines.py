"""The lines of a long text that say something new: of lines that differ in their numbers alone, few are read.

A log says the same thing a thousand times with other numbers, and to the formats only the newest word of each counter
matters and the place of its first. So of each kind of line (its text, whatever the digits) the first and the last two
are kept, and the end of the text whole. Bars are told apart by their totals and by where they begin, so in a line with
a percentage the number behind a slash and a lone 0 before one belong to the kind. Who needs every line that holds
something is told all lines of the kinds that may hold it. Who needs what the formats read alone says which lines no
format can read: kinds that were judged silent in one text are left out of the following ones.

A format must not tell by the digits alone which lines are its own: of those in the middle of a text it would not hear.
("epoch zero" does, but epochs that count from 0 begin with it.)
Without what is compiled nothing is thinned.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import local

from dogwatch.logs.native import copy, library

LEAST, LARGEST = 1 << 17, 1 << 23  # bytes of a text that is worth it, and of one that there is room for
LITTLE = 1 << 14  # bytes of a text of a log that is read from its beginning to its end
WHOLE = 1 << 12  # bytes at the end of a text that are kept as they are
COMPARED, LONGEST = 1 << 10, 1 << 16  # bytes of a line that is compared with others, and of one that is read whole
SHORT = 16  # bytes of lines on average, of which there may be too many
MOST_LINES = 1 << 13  # that are told one by one
STEP = 1 << 20  # bytes that the room grows by

_SEED = int.from_bytes(os.urandom(8), "little")
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_ALONE = 0xFFFF  # the kind of a line that is compared with no other
_KINDS = 1 << 12

IsSilent = Callable[[bytes], bool]


def without_digits(text: bytes) -> bytes:
    """The text with every digit made a 0."""
    return text.translate(_DIGITS)


class _Workbench(local):
    """Room for what is found in a text, kept for the next one; one for each thread."""

    def __init__(self) -> None:
        self.size = 0
        self._judge: IsSilent | None = None

    def judged(self, is_silent: IsSilent) -> ctypes.Array[ctypes.c_char]:
        """What this judge has judged so far."""
        if is_silent != self._judge:
            self._judge, self._judged = is_silent, ctypes.create_string_buffer(library().judged_size())
        return self._judged

    def fit(self, size: int) -> None:
        if size > self.size:
            size = -(-size // STEP) * STEP
            lines = size // SHORT + 1
            self.table = ctypes.create_string_buffer(library().table_size())
            self.starts, self.places, self.origins, self.numbers = ((ctypes.c_uint32 * lines)() for _ in range(4))
            self.kinds = (ctypes.c_uint16 * lines)()
            self.size = size


_bench = _Workbench()


def is_worth_it(size: int) -> bool:
    """Whether a text of so many bytes may be thinned."""
    return LEAST <= size <= LARGEST and library() is not None


def line_ends(text: bytes) -> tuple[int, int]:
    """Where the first line ends, and where that begins which stands behind the last whole one; (-1, 0) when there is
    none. Either line end ends a line; the whole text is not looked through for one that is not there."""
    first = text.find(b"\n")
    earlier = text.find(b"\r", 0, len(text) if first < 0 else first)
    last = text.rfind(b"\n")
    return first if earlier < 0 else earlier, max(last, text.rfind(b"\r", last + 1)) + 1


def distinct_lines(
    text: bytes, start: int = 0, stop: int | None = None, head: bytes = b"", is_silent: IsSilent | None = None
) -> DistinctLines | None:
    """A line (or none) and the whole lines of a text between two places, and those of them that say something new. None
    where that is not worth it or cannot be had, and where there are escapes or zero bytes."""
    stop = len(text) if stop is None else stop
    size = stop - start
    if not (is_worth_it(size) or (is_silent is not None and LITTLE <= size <= LARGEST and library() is not None)):
        return None
    _bench.fit(size)
    native, bench, room, new, count = library(), _bench, size // SHORT + 1, copy.fit(size), ctypes.c_size_t()
    judged = None if is_silent is None else bench.judged(is_silent)
    lines = native.number_lines(
        *(text, start, stop, COMPARED, LONGEST, _SEED, bench.table, judged, bench.starts, bench.kinds, room)
    )
    if lines < 0:
        return None
    if is_silent is not None:
        _judge(text, stop, lines, is_silent)
    copied = native.copy_new(
        *(text, stop, max(start, stop - WHOLE), bench.table, bench.starts, bench.kinds, lines),
        *(new, bench.places, bench.origins, bench.numbers, ctypes.byref(count)),
    )
    places, origins, numbers = (
        memoryview(ctypes.string_at(each, count.value * 4)).cast("I")
        for each in (bench.places, bench.origins, bench.numbers)
    )
    numbered = Numbered(ctypes.string_at(bench.starts, lines * 4), ctypes.string_at(bench.kinds, lines * 2), stop)
    return DistinctLines(head, start, ctypes.string_at(new, copied), places, origins, numbers, numbered)


def _judge(text: bytes, stop: int, lines: int, is_silent: IsSilent) -> None:
    """Judge the kinds of lines that are new in the text which was numbered last; not where most lines are new, since
    those of the next text will be as well."""
    native, judged, kinds, firsts = library(), _bench.judged(is_silent), (ctypes.c_uint16 * _KINDS)(), _bench.numbers
    count = native.unjudged(_bench.table, judged, kinds, firsts)
    for place in range(count if 2 * count <= lines else 0):
        line = firsts[place]
        end = _bench.starts[line + 1] if line + 1 < lines else stop
        silent = is_silent(text[_bench.starts[line] : end - 1])
        native.judge(_bench.table, judged, kinds[place], silent)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Of every line of a text, packed: where it starts, and its kind. And where the last one ends."""

    starts: bytes
    kinds: bytes
    stop: int


class DistinctLines:
    """Some lines, first one by itself and then those of a text from `start` on, and the copy of them that holds what is
    new. Of each line of the text that was copied: its place in that part of the copy, its place in the text, and its
    number there. All other places are of the lines, or of the whole copy."""

    def __init__(
        self,
        head: bytes,
        start: int,
        new: bytes,
        places: Sequence[int],
        origins: Sequence[int],
        numbers: Sequence[int],
        lines: Numbered,
    ) -> None:
        self.copy, self.size, self.stop = head + new, len(head) + lines.stop - start, lines.stop
        self._head, self._moved = len(head), len(head) - start
        self._places, self._origins, self._numbers, self._lines = places, origins, numbers, lines

    def origin(self, place: int) -> int:
        """Where in the lines this place of the copy is."""
        if place < self._head:
            return place
        line = self._line(place)
        return self._moved + self._origins[line] + place - self._head - self._places[line]

    def _line(self, place: int) -> int:
        return bisect_right(self._places, place - self._head) - 1

    def lines_like(self, places: Iterable[int]) -> list[tuple[int, int]] | None:
        """From where to where the lines are that are of the kinds of those on which these places of the copy are, in
        order; of a line that is like no other the place alone. None where they are very many."""
        kinds, wanted, alone = memoryview(self._lines.kinds).cast("H"), bytearray(_KINDS), []
        for place in places:
            kind = _ALONE if place < self._head else kinds[self._numbers[self._line(place)]]
            if kind == _ALONE:
                at = self.origin(place)
                alone.append((at, at + 1))
            else:
                wanted[kind] = 1
        if not any(wanted):
            return alone
        since, until = ((ctypes.c_uint32 * MOST_LINES)() for _ in range(2))
        count = library().lines_of(
            *(bytes(wanted), self._lines.stop, self._lines.starts, self._lines.kinds, len(kinds)),
            *(since, until, MOST_LINES),
        )
        if count < 0:
            return None
        like = zip(since[:count], until[:count], strict=True)
        return sorted([*alone, *((start + self._moved, end + self._moved) for start, end in like)])
