"""A log's bytes as UTF-8, whatever two- or four-byte characters it was written in. Streams; never fails."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

SAMPLE = 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same text. Plain bytes pass as they are, good UTF-8 or not; only UTF-16 and UTF-32 are rewritten."""
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
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(head[skip:]).encode("utf-8", "replace")
    for piece in stream:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


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
