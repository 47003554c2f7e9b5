"""The passes over every byte of a long log that are compiled (`native.c`), where a compiler was there when the package
was built. Without them the same is done more slowly; nothing that is read changes.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from threading import local
from typing import Any

_SIZE, _TEXT, _ROOM = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
VERSION = 2
_CALLS: dict[str, tuple[Any, ...]] = {
    "version": (),
    "table_size": (),
    "judged_size": (),
    "number_lines": (_TEXT, _SIZE, _SIZE, _SIZE, _SIZE, ctypes.c_uint64, _ROOM, _ROOM, _ROOM, _ROOM, _SIZE),
    "unjudged": (_ROOM, _ROOM, _ROOM, _ROOM),
    "judge": (_ROOM, _ROOM, _SIZE, ctypes.c_int),
    "copy_new": (_TEXT, _SIZE, _SIZE, _ROOM, _ROOM, _ROOM, _SIZE, _ROOM, _ROOM, _ROOM, _ROOM, _ROOM),
    "lines_of": (_TEXT, _SIZE, _TEXT, _TEXT, _SIZE, _ROOM, _ROOM, _SIZE),
    "count_newlines": (_TEXT, _SIZE, _SIZE),
    "strip_escapes": (_TEXT, _SIZE, _ROOM),
}
SMALL, DENSE = 4096, 256  # bytes in which newlines are counted one by one, and newlines among them that are many
STRIDE = 96 << 10  # bytes of a copy that is cheap: from 128 KiB on the system gives, clears and takes back the room
_wanted = True


def prefer(wanted: bool) -> None:
    """Use what is compiled from now on or not, to compare."""
    global _wanted
    _wanted = wanted


def library() -> Any:
    """What is compiled; None where nothing is, or for another machine."""
    return _loaded() if _wanted else None


@cache
def _loaded() -> Any:
    try:
        found = ctypes.CDLL(os.path.splitext(__file__)[0] + ".lib")
        for name, types in _CALLS.items():
            call = getattr(found, name)
            call.restype, call.argtypes = ctypes.c_long, types
    except (OSError, AttributeError):
        return None
    return found if found.version() == VERSION else None  # it may have been compiled from another release


def newlines(text: bytes, start: int, stop: int) -> int:
    """How many lines end between two places. Python's own count looks at every byte; taking them out does not, and is
    much faster where they are not dense."""
    if stop - start <= SMALL:
        return text.count(b"\n", start, stop)
    if (native := library()) is not None:
        return int(native.count_newlines(text, start, stop))
    if text.count(b"\n", start, start + SMALL) > DENSE:
        return text.count(b"\n", start, stop)
    parts = (text[at : min(at + STRIDE, stop)] for at in range(start, stop, STRIDE))
    return sum(len(part) - len(part.replace(b"\n", b"")) for part in parts)


class Copy(local):
    """Room for a copy of a text, kept for the next one; one for each thread."""

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(0)

    def fit(self, size: int) -> ctypes.Array[ctypes.c_char]:
        if size > len(self._room):
            self._room = ctypes.create_string_buffer(size)
        return self._room


copy = Copy()
