"""The words that request and answer are made of, and what every part does with bytes."""

import json
import os
from typing import Any

RESERVED = frozenset(("ok", "seconds", "why", "late"))  # what a section says of itself
WRONG_SHAPE = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)


class Refused(ValueError):
    """A request that does not have the shape of the protocol; said in the answer, never a crash."""


def number(value: "Any", what: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused("%s must be a whole number from %d to %d" % (what, low, high))
    return value


def texts(value: "Any", what: str) -> "list[str]":
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Refused("%s must be a list of texts" % what)
    return value


class Fields:
    """An object of a request. Each field is checked when it is taken; null means that it is not there."""

    __slots__ = ("where", "words")

    def __init__(self, value: "Any", where: str) -> None:
        if not isinstance(value, dict):
            raise Refused("%s must be an object" % (where or "a request"))
        self.words, self.where = value, where

    def __contains__(self, name: str) -> bool:
        return self.words.get(name) is not None

    def path(self, name: str) -> str:
        return self.where + "." + name if self.where else name

    def number(self, name: str, low: int, high: int, default: "int | None" = None) -> int:
        value = self.words.get(name)
        return number(default if value is None else value, self.path(name), low, high)

    def seconds(self, name: str, default: float) -> float:
        value = self.words.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 3600:
            raise Refused("%s must be a number of seconds up to 3600" % self.path(name))
        return value

    def text(self, name: str, default: str = "") -> str:
        value = self.words.get(name, default)
        if not isinstance(value, str):
            raise Refused("%s must be a text" % self.path(name))
        return value

    def texts(self, name: str) -> "list[str]":
        return texts(self.words.get(name), self.path(name))

    def flag(self, name: str) -> bool:
        return self.words.get(name) is True

    def mapping(self, name: str) -> "dict[str, Any]":
        """What is under each key of an object in this one, not checked yet."""
        value = self.words.get(name)
        return {} if value is None else Fields(value, self.path(name)).words

    def text_by_name(self, name: str) -> "dict[str, str]":
        found = self.mapping(name)
        if not all(isinstance(value, str) for value in found.values()):
            raise Refused("%s must have texts only" % self.path(name))
        return found

    def inner(self, name: str) -> "Fields":
        """An object in this one; empty where there is none."""
        value = self.words.get(name)
        return Fields({} if value is None else value, self.path(name))


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
