"""The fast reader: a growing log in pieces of bytes → what it says now.

Two stages: literals are looked for in the whole piece, and only lines that hold one are read, newest
first, until a format has spoken. Where a piece is cut does not change what is known after the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dogwatch.logs.formats import plan_for
from dogwatch.logs.interface import Format
from dogwatch.logs.meaning import Meaning, Reading
from dogwatch.model import Step, Trouble
from dogwatch.text import without_escapes

if TYPE_CHECKING:
    from dogwatch.logs.user import UserPatterns

__all__ = ["LINE_LIMIT", "Reader", "Reading"]

LINE_LIMIT = 65536
STATE_VERSION = 2
TRIES = 2  # lines read for their needle alone before a format's hint is asked
_COLOUR = re.compile(rb"\x1b\[[0-?]{0,64}[ -/]{0,4}[@-~]")


class Reader:
    """Reads one log, piece by piece, in bounded memory; with its `state()` another can go on."""

    def __init__(
        self, patterns: UserPatterns | None = None, listen: Callable[[int, bytes], None] | None = None
    ) -> None:
        """`listen` is told of every piece: where it starts and its whole lines, cleaned."""
        self._patterns = patterns
        self._listen = listen
        self._partial = b""
        self._after_cr = False
        self._offset = 0
        self.meaning = Meaning()

    def feed(self, chunk: bytes) -> Reading:
        """Take the next bytes of the log; a last line without its end waits for the next piece."""
        if not chunk:
            return self._reading([], 0)
        chunk, lines = self._lines(chunk)
        text = _clean(self._whole(chunk))
        troubles: list[Trouble] = []
        if text:
            _Piece(self, text).read()
            if self._patterns is not None:
                for name, at, mark in self._patterns.newest(text):
                    self.meaning.note(f"owner {name}", "", self._offset + at, self._offset + at, [mark])
                troubles = self._patterns.troubles(text)
            if self._listen is not None:
                self._listen(self._offset, text)
            self._offset += len(text)
            self.meaning.bound()
        return self._reading(troubles, lines)

    def end_line(self) -> Reading:
        """What is held back is a line of its own: another file begins here, or a part was passed over."""
        return self.feed(b"\n") if self._partial else self._reading([], 0)

    def _lines(self, chunk: bytes) -> tuple[bytes, int]:
        """The piece with one kind of line end and no NULs (UTF-16 becomes readable), and how many ended."""
        if b"\0" in chunk:
            chunk = chunk.replace(b"\0", b"")
        lines = chunk.count(b"\n")
        if self._after_cr and chunk.startswith(b"\n"):
            lines -= 1
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            lines += chunk.count(b"\r") - chunk.count(b"\r\n")
            chunk = chunk.replace(b"\r", b"\n")
        return chunk, lines

    def _whole(self, chunk: bytes) -> bytes:
        """What was held back plus the whole lines of the piece; the rest is held, cut to the line limit."""
        first, end = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
        if not end:
            self._partial += chunk[: LINE_LIMIT - len(self._partial)]
            return b""
        head = self._partial + chunk[: min(first, LINE_LIMIT - len(self._partial))]
        self._partial = chunk[end : end + LINE_LIMIT]
        return _cut_lines(head + chunk[first:end])

    def _reading(self, troubles: list[Trouble], lines: int) -> Reading:
        said = self.meaning.reading()
        return replace(said, troubles=troubles, lines=lines) if troubles or lines else said

    def state(self) -> dict[str, Any]:
        """All that is known and held back, as JSON can carry it."""
        return {
            "v": STATE_VERSION,
            "partial": self._partial.decode("latin-1"),
            "after_cr": self._after_cr,
            "offset": self._offset,
            **self.meaning.state(),
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any], patterns: UserPatterns | None = None) -> Reader:
        """A reader that goes on where the one that gave `state` stopped; a state of another version of the
        program is forgotten, which costs no more than a wait for the log's next words."""
        reader = cls(patterns)
        if state.get("v") != STATE_VERSION:
            return reader
        reader._partial = state["partial"].encode("latin-1")
        reader._after_cr = state["after_cr"]
        reader._offset = state["offset"]
        reader.meaning = Meaning.restore(state)
        return reader


class _Piece:
    """The whole lines of one feed: found by literal, decoded once, read newest first."""

    def __init__(self, reader: Reader, text: bytes) -> None:
        self._meaning = reader.meaning
        self._offset = reader._offset
        self._text = text
        self._low = text.lower()
        self._decoded: dict[int, str] = {}

    def read(self) -> None:
        low = self._low
        for stem, fmt in plan_for(low):
            at = low.rfind(stem)  # twice as fast as `in` on CPython 3.11
            if at >= 0:
                if fmt.sift is None:
                    self._newest(fmt, at)
                else:
                    self._newest_each(fmt)

    def _newest(self, fmt: Format, last: int) -> None:
        """Walk back over the lines that hold a needle until one of them speaks for the format."""
        low, tries = self._low, 0
        places = [low.rfind(needle) for needle in fmt.needles] if len(fmt.needles) > 1 else [last]
        while (at := places[0] if len(places) == 1 else max(places)) >= 0:
            before = low.rfind(b"\n", 0, at) + 1
            if self._take(fmt, "", before):
                return
            tries += 1
            if fmt.hint is not None and tries == TRIES:
                return self._hinted(fmt, fmt.hint, before)
            for i, place in enumerate(places):
                if place >= before:
                    places[i] = low.rfind(fmt.needles[i], 0, before)

    def _hinted(self, fmt: Format, hint: re.Pattern[bytes], before: int) -> None:
        """The same over the lines in which the hint matches."""
        places = [found.start() for found in hint.finditer(self._low, 0, before)]
        for place in reversed(places):
            if self._take(fmt, "", self._low.rfind(b"\n", 0, place) + 1):
                return

    def _newest_each(self, fmt: Format) -> None:
        """The newest line of every counter that the format tells apart."""
        assert fmt.sift is not None
        records: dict[str, list[int]] = {}
        for counter, place in fmt.sift(self._low):
            records.setdefault(counter, []).append(place)
        for counter, places in records.items():
            first = self._low.rfind(b"\n", 0, places[0]) + 1
            for place in reversed(places):
                if self._take(fmt, counter, self._low.rfind(b"\n", 0, place) + 1, first):
                    break

    def _take(self, fmt: Format, counter: str, start: int, first: int | None = None) -> bool:
        """Read the line at `start`; True when the format need not look further back."""
        line = self._decoded.get(start)
        if line is None:
            line = self._text[start : self._text.find(b"\n", start)].decode("utf-8", "replace")
            self._decoded[start] = line
        marks = fmt.read(line)
        if not marks:
            return False
        if fmt.seeks_step and not any(type(mark) is Step for mark in marks):
            self._meaning.note_metrics(self._offset + start, marks)
            return False
        self._meaning.note(
            fmt.kind, counter, self._offset + start, self._offset + (start if first is None else first), marks
        )
        return True


def _cut_lines(text: bytes) -> bytes:
    """Every line cut to the limit; looks only once per 64 KiB where no line is longer."""
    if len(text) <= LINE_LIMIT:
        return text
    kept: list[bytes] = []
    done = start = 0
    while len(text) - start > LINE_LIMIT + 1:
        end = text.rfind(b"\n", start, start + LINE_LIMIT + 1)
        if end >= 0:
            start = end + 1
            continue
        kept.append(text[done : start + LINE_LIMIT])
        done = text.find(b"\n", start + LINE_LIMIT)
        start = done + 1
    kept.append(text[done:])
    return b"".join(kept)


def _clean(text: bytes) -> bytes:
    """The lines as valid UTF-8 without terminal escapes; never joins or splits a line."""
    if b"\x1b" in text:
        text = _COLOUR.sub(b"", text)
        if b"\x1b" in text:
            return without_escapes(text.decode("utf-8", "replace")).encode("utf-8")
    return text if text.isascii() else text.decode("utf-8", "replace").encode("utf-8")
