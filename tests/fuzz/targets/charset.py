"""Logs in other encodings."""

from __future__ import annotations

from dogwatch.logs.charset import as_utf8
from tests.fuzz.dice import Dice


def target(data: bytes) -> None:
    """Never fails, gives at most a few bytes for each that it took, and the same wherever the pieces are cut."""
    pieces = Dice(data).pieces()
    text = b"".join(as_utf8(pieces))
    assert len(text) <= 3 * sum(map(len, pieces)) + 16
    assert b"".join(as_utf8([b"".join(pieces)])) == text


def seeds() -> list[bytes]:
    words = "step 3/10 loss 2.5 größer\n" * 8
    wide = [words.encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1")]
    mixed = wide[0] + b"now a program writes one byte a letter, and does so for long: step 4/10 loss 2.4\n" * 3
    return [b"\x03\x05\x09\x40" + text for text in (*wide, mixed, mixed + words.encode("utf-16-le"))]
