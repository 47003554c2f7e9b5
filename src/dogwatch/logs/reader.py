"""The fast reader: a growing log in pieces of bytes → what it says now.

Of a long piece, lines that differ from others in their numbers alone are left out. Then two stages: literals are
looked for in all that remains, and only lines that hold one are read, newest first, until a format matches. Where a
piece is cut does not change what is known after the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dogwatch.logs.distinct_lines import DistinctLines, distinct_lines, is_worth_it, line_ends
from dogwatch.logs.docker_json import WITHIN, is_docker_json, unwrapped
from dogwatch.logs.escapes import without_escapes
from dogwatch.logs.formats import plan
from dogwatch.logs.literal_search import DistinctLinesSearch, TextSearch, keep_search
from dogwatch.logs.meaning import Meaning, MeaningState, Reading
from dogwatch.logs.read_backwards import read_piece
from dogwatch.model import Trouble

if TYPE_CHECKING:
    from dogwatch.logs.user import UserPatterns

__all__ = ["LINE_LIMIT", "Reader", "Reading"]

LINE_LIMIT = 65536
STATE_VERSION = 3


class ReaderState(MeaningState, total=False):
    """A reader as JSON can carry it; of another version of the program it may lack anything but `v`."""

    v: int
    partial: str
    offset: int
    wraps: bool


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
        troubles: list[Trouble] = []
        search: TextSearch | DistinctLinesSearch
        if (new := self._new_lines(chunk)) is not None:
            search, is_same = self._read_new(new), True
            if self.meaning.wants_all():
                self.meaning.read(self._whole(_lines(chunk)), self._offset)
            else:
                self._partial = chunk[new.stop : new.stop + LINE_LIMIT]
        else:
            whole = self._whole(_lines(chunk))
            self._wraps = self._wraps or self._wrapped(whole)
            text = without_escapes(unwrapped(whole) if self._wraps else whole)
            text = text if self._patterns is None else _valid(text)
            search, is_same = self._read_text(text), text is whole
            troubles = self._read_whole(text) if text else []
        if self._shares and search.size and is_same and held + len(chunk) == search.size + len(self._partial):
            keep_search(search, held, chunk)  # it is the same text, but for its line ends
        self._offset += search.size
        self.meaning.bound()
        return self._reading(troubles)

    @property
    def _shares(self) -> bool:
        """Whether another may read the same piece next: a listener has got it already."""
        return self._listen is None

    def _new_lines(self, chunk: bytes) -> DistinctLines | None:
        """Of a long piece that can be read as it stands, the lines that say something new, behind the one that was held
        back; None where somebody wants every line, or the bytes have to be made lines first."""
        if self._patterns is not None or self._listen is not None or self._wraps or not is_worth_it(len(chunk)):
            return None
        first, end = line_ends(chunk)
        if not end or len(self._partial) + first > LINE_LIMIT:
            return None
        head = self._partial + chunk[:first]
        if b"\0" in head or b"\x1b" in head:
            return None
        if self._wrapped(_lines(self._partial + chunk[:WITHIN])):
            return None
        return distinct_lines(chunk, first + 1, end, head + b"\n")

    def _wrapped(self, whole: bytes) -> bool:
        """Whether the beginning of the log, if these lines are of it, shows that something wrapped each of them."""
        return self._offset < WITHIN and is_docker_json(whole[: WITHIN - self._offset])

    def _read_new(self, new: DistinctLines) -> DistinctLinesSearch:
        """Record what the formats read in these lines."""
        read_piece(
            plan(), TextSearch(new.copy, self._shares), lambda place: self._offset + new.origin(place), self.meaning
        )
        return DistinctLinesSearch(new)

    def _read_text(self, text: bytes) -> TextSearch | DistinctLinesSearch:
        """Record what the formats read in some whole lines; only in the distinct ones if these are few."""
        if (new := distinct_lines(text, is_silent=None if self._shares else plan().is_silent)) is not None:
            return self._read_new(new)
        search = TextSearch(text, self._shares)
        if text:
            read_piece(plan(), search, self._offset.__add__, self.meaning)
        return search

    def _read_whole(self, text: bytes) -> list[Trouble]:
        """Show some whole lines to those who want every one of them."""
        troubles: list[Trouble] = []
        if self._patterns is not None:
            for name, at, event in self._patterns.newest(text):
                self.meaning.note(f"owner {name}", "", self._offset + at, self._offset + at, [event])
            troubles = self._patterns.troubles(text)
        self.meaning.read(text, self._offset)
        if self._listen is not None:
            self._listen(self._offset, text)
        return troubles

    @property
    def has_open_line(self) -> bool:
        """Whether a last line without its end was not read yet."""
        return bool(self._partial)

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
        reading = self.meaning.reading()
        return reading._replace(troubles=troubles) if troubles else reading

    def state(self) -> ReaderState:
        """All that is known and held back, as JSON can carry it."""
        return {
            "v": STATE_VERSION,
            "partial": self._partial.decode("latin-1"),
            "offset": self._offset,
            "wraps": self._wraps,
            **self.meaning.state(),
        }

    @classmethod
    def restore(cls, state: ReaderState, patterns: UserPatterns | None = None) -> Reader:
        """A reader that goes on where the one that gave `state` stopped; a state of another version of the
        program is forgotten, which only costs the time until the log's next lines."""
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


def _valid(text: bytes) -> bytes:
    return text if text.isascii() else text.decode("utf-8", "replace").encode("utf-8")
