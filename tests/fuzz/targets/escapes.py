"""Terminal escapes in a log's lines, and the gate before the terminal."""

from __future__ import annotations

from dogwatch.logs import native
from dogwatch.logs.escapes import without_escapes
from dogwatch.text import plain
from tests.fuzz.dice import is_clean

LONGEST = 5000


def target(data: bytes) -> None:
    """The compiled and the plain way strip alike, leave no ESC that opens something, and join or split no line; what
    may touch a terminal is bounded and printable."""
    native.prefer(True)
    compiled = without_escapes(data)
    native.prefer(False)
    try:
        assert without_escapes(data) == compiled
    finally:
        native.prefer(True)
    assert compiled.count(b"\n") == data.count(b"\n")
    assert b"\x1b" not in compiled
    text = data.decode("utf-8", "replace")
    for limit in (1, 500):
        shown = plain(text, limit)
        assert len(shown) <= limit
        assert is_clean(shown)
    assert is_clean(plain(text, 500, keep="\n"), "\n")


def seeds() -> list[bytes]:
    return [
        b"\x1b[31mred\x1b[0m\nnext\n",
        b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\n",
        b"\x1bP1;2|dcs\x1b\\\x1b_apc\xc2\x9c\x1b\x1b[2K\r12%",
        b"\xc2\x9b31m\xc2\x9d0;x\xc2\x9c\xe2\x80\xaebidi\xe2\x80\x8b",
        b"\x1b[" + b"1;" * 40 + b"m" + b"\x1b]" + b"y" * 4100,
    ]
