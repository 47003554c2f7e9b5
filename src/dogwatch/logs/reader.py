"""The fast reader: a growing log in pieces of bytes → what it says now.

Two stages: literals are looked for in the whole piece, and only lines that hold one are read, newest
first, until a format has spoken. Where a piece is cut does not change what is known after the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dogwatch.logs.formats import plan
from dogwatch.logs.meaning import Meaning, Reading
from dogwatch.logs.piece import read_piece
from dogwatch.logs.sight import Sight, hand_on
from dogwatch.logs.wrapped import WITHIN, unwrapped, wraps
from dogwatch.model import Trouble

if TYPE_CHECKING:
    from dogwatch.logs.user import UserPatterns

__all__ = ["LINE_LIMIT", "Reader", "Reading"]

LINE_LIMIT = 65536
STATE_VERSION = 3
# The rest of an escape sequence, which may be unfinished: a code; a string, which the next sequence ends, and of which
# only the opener goes if it does not end soon; or everything else.
_ESCAPED = (
    rb"(?:\[[ -?]{0,64}+[0-~]?+"
    rb"|[\]PX^_](?:(?:[^\x00-\x1f\x7f\xc2]|\xc2[\xa0-\xbf]){0,4095}+(?:\x07|\xc2\x9c|\x1b\\|(?=\x1b)))?+"
    rb"|[ -/]{0,4}+[0-~]?+)"
)
_ESCAPES = re.compile(rb"\x1b\x1b*+" + _ESCAPED + rb"(?:\x1b++" + _ESCAPED + rb")*+")


class Reader:
    """Reads one log, piece by piece, in bounded memory; with its `state()` another can go on."""

    def __init__(
        self, patterns: UserPatterns | None = None, listen: Callable[[int, bytes], None] | None = None
    ) -> None:
        """`listen` is told of every piece: where it starts and its whole lines, cleaned."""
        self._patterns = patterns
        self._listen = listen
        self._partial = b""
        self._offset = 0
        self._wraps = False
        self.meaning = Meaning()

    def feed(self, chunk: bytes) -> Reading:
        """Take the next bytes of the log; a last line without its end waits for the next piece."""
        held = len(self._partial)
        whole = self._whole(_lines(chunk))
        self._wraps = self._wraps or (self._offset < WITHIN and wraps(whole[: WITHIN - self._offset]))
        text = _clean(unwrapped(whole) if self._wraps else whole)
        troubles: list[Trouble] = []
        if text:
            text = text if self._patterns is None else _valid(text)
            sight = Sight(text)
            read_piece(plan(), sight, self._offset, self.meaning)
            if text is whole and held + len(chunk) == len(text) + len(self._partial):
                hand_on(sight, held, chunk)  # it is the same text, but for its line ends
            if self._patterns is not None:
                for name, at, mark in self._patterns.newest(text):
                    self.meaning.note(f"owner {name}", "", self._offset + at, self._offset + at, [mark])
                troubles = self._patterns.troubles(text)
            self.meaning.read(text, self._offset)
            if self._listen is not None:
                self._listen(self._offset, text)
            self._offset += len(text)
            self.meaning.bound()
        return self._reading(troubles)

    def end_line(self) -> Reading:
        """What is held back is a line of its own: another file begins here, or a part was passed over."""
        return self.feed(b"\n") if self._partial else self._reading([])

    def _whole(self, chunk: bytes) -> bytes:
        """What was held back plus the whole lines of the piece; the rest is held, cut to the line limit."""
        first, end = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
        if not end:
            self._partial += chunk[: LINE_LIMIT - len(self._partial)]
            return b""
        head = self._partial + chunk[: min(first, LINE_LIMIT - len(self._partial))]
        self._partial = chunk[end : end + LINE_LIMIT]
        return _cut_lines(b"".join((head, memoryview(chunk)[first:end])))

    def _reading(self, troubles: list[Trouble]) -> Reading:
        said = self.meaning.reading()
        return replace(said, troubles=troubles) if troubles else said

    def state(self) -> dict[str, Any]:
        """All that is known and held back, as JSON can carry it."""
        return {
            "v": STATE_VERSION,
            "partial": self._partial.decode("latin-1"),
            "offset": self._offset,
            "wraps": self._wraps,
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
        reader._offset, reader._wraps = state["offset"], state["wraps"]
        reader.meaning = Meaning.restore(state)
        return reader


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


def _lines(chunk: bytes) -> bytes:
    """The piece with one kind of line end and no NULs (UTF-16 becomes readable)."""
    if b"\0" in chunk:
        chunk = chunk.translate(None, b"\0")
    return chunk.replace(b"\r", b"\n") if b"\r" in chunk else chunk


def _clean(text: bytes) -> bytes:
    """The lines without terminal escapes; never joins or splits a line."""
    return _ESCAPES.sub(b"", text) if b"\x1b" in text else text


def _valid(text: bytes) -> bytes:
    return text if text.isascii() else text.decode("utf-8", "replace").encode("utf-8")
