"""Text without terminal escapes, whole lines of it at a time."""

from __future__ import annotations

import ctypes
import re

from dogwatch.logs.native import copy, library

LARGEST = 1 << 23  # bytes that room is kept for

# The rest of an escape sequence, which may be unfinished: a code; a string, which the next sequence ends, and of which
# only the opener goes if it does not end soon; or everything else. `native.c` has the same by hand.
_ESCAPED = (
    rb"(?:\[[ -?]{0,64}+[0-~]?+"
    rb"|[\]PX^_](?:(?:[^\x00-\x1f\x7f\xc2]|\xc2[\xa0-\xbf]){0,4095}+(?:\x07|\xc2\x9c|\x1b\\|(?=\x1b)))?+"
    rb"|[ -/]{0,4}+[0-~]?+)"
)
_ESCAPES = re.compile(rb"\x1b\x1b*+" + _ESCAPED + rb"(?:\x1b++" + _ESCAPED + rb")*+")


def without_escapes(text: bytes) -> bytes:
    """The lines without terminal escapes; never joins or splits a line."""
    if b"\x1b" not in text:
        return text
    if (native := library()) is None or len(text) > LARGEST:
        return _ESCAPES.sub(b"", text)
    room = copy.fit(len(text))
    return ctypes.string_at(room, native.strip_escapes(text, len(text), room))
