"""A log's bytes as UTF-8, whatever two- or four-byte characters it was written in. Streams; never fails."""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterable, Iterator
from itertools import chain

SAMPLE = 1024
LEAST = 64  # bytes in a row that are letters of one byte each; in text of two bytes a letter that is no chance
_EIGHT = re.compile(rb"[\t\n\r\x1b -~]{%d,}" % LEAST)
_PERHAPS = re.compile(rb"[\t\n\r\x1b -~]{1,%d}\Z" % (LEAST - 1))  # the beginning of as many
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same text. Plain bytes pass as they are, good UTF-8 or not; only UTF-16 and UTF-32 are rewritten, and of a
    file that a shell began in UTF-16 and another program went on with, only its UTF-16."""
    stream = iter(pieces)
    head = b""
    for piece in stream:
        head += piece
        if len(head) >= SAMPLE:
            break
    encoding, skip = detect(head)
    if encoding is None:
        yield head[skip:]
        yield from stream
        return
    mixed = _Mixed(encoding)
    for piece in chain((head[skip:],), stream):
        yield b"".join(mixed.feed(piece))
    yield mixed.close()


class _Mixed:
    """Text of several bytes a letter, in which a stretch may have one byte a letter: from where many of those stand in
    a row up to the next zero byte."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._held = b""
        self._plain = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        text = self._held + piece
        while True:
            if self._plain:
                zero = text.find(b"\0")
                end = (zero if zero >= 0 else len(text)) - 1  # the last may be the first half of a letter
                yield text[: max(0, end)]
                text = text[max(0, end) :]
                if zero < 0:
                    break
                self._plain = False
            found = _EIGHT.search(text)
            if found is None:
                text = yield from self._ahead(text)
                break
            yield self._wide(text[: found.start()]).encode("utf-8", "replace")
            self._decoder.reset()  # half a letter before them is none
            text, self._plain = text[found.start() :], True
        self._held = text

    def close(self) -> bytes:
        return self._held if self._plain else self._wide(self._held, final=True).encode("utf-8", "replace")

    def _ahead(self, text: bytes) -> Generator[bytes, None, bytes]:
        """Read all but what may be the beginning of letters of one byte; returns that."""
        perhaps = _PERHAPS.search(text, max(0, len(text) - LEAST))
        end = perhaps.start() if perhaps else len(text)
        yield self._wide(text[:end]).encode("utf-8", "replace")
        return text[end:]

    def _wide(self, text: bytes, final: bool = False) -> str:
        return self._decoder.decode(text, final)


def detect(head: bytes) -> tuple[str | None, int]:
    """(encoding to decode from, bytes to skip) by the mark at the start, or by where the zero bytes stand."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return (None if encoding == "utf-8" else encoding), len(mark)
    sample = head[:SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if half >= 4 and odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le", 0
    if half >= 4 and even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be", 0
    return None, 0
