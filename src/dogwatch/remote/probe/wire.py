"""The words that request and answer are made of, and what every part does with bytes."""

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESERVED = frozenset(("ok", "seconds", "why", "late"))  # what a section says of itself
WRONG_SHAPE = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)


class Refused(ValueError):
    """A request that does not have the shape of the protocol; said in the answer, never a crash."""


def number(value: "Any", what: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused("%s must be a whole number from %d to %d" % (what, low, high))
    return value


def mapping(value: "Any", what: str) -> "dict[str, Any]":
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused("%s must be an object" % what)
    return value


def texts(value: "Any", what: str) -> "list[str]":
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Refused("%s must be a list of texts" % what)
    return value


def enc(path: str) -> bytes:
    """The bytes of a path: under LC_ALL=C Python 3.6 would not take an accent in a str path."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except WRONG_SHAPE:
        raw = b""
    if not raw.startswith(b"/") or b"\0" in raw:
        raise Refused("is not an absolute path")
    return raw


def dec(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # `json.dumps` would make one at every call


def compact(value: "Any") -> bytes:
    return ENCODE(value).encode("ascii")


def slurp(path: "str | bytes", cap: int = 4096) -> bytes:
    """The first bytes of a small kernel file."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, cap)
    finally:
        os.close(fd)


def write_all(fd: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(fd, rest) :]
