"""What should be true of a job, as people say it: checked, and paths made absolute. A refusal names the flag."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from dogwatch.errors import UsageError
from dogwatch.text import plain

LONGEST_PATH = 4096
Note: TypeAlias = Callable[[str], None]  # takes a sentence that a person should read


def positive(number: int | None, flag: str) -> int | None:
    """A whole number above zero, or None where nothing was said."""
    if number is not None and number < 1:
        raise UsageError(f"{flag} must be a whole number of at least 1, not {number}")
    return number


def seconds(text: str | None, flag: str) -> float | None:
    """A duration above zero, or None where nothing was said."""
    from dogwatch.config import duration

    return None if text is None else duration(text, flag)


def growth(text: str | None, flag: str) -> float | None:
    """Bytes per second, or None where nothing was said."""
    from dogwatch import config

    return None if text is None else config.growth(text, flag)


def globs(
    patterns: Sequence[str], flag: str, start: str = "", *, later: bool = False, note: Note | None = None
) -> tuple[str, ...]:
    """File patterns, absolute, from `start` on as the job itself would name them; the directory above the first
    wildcard must be there, unless the job may make it `later`."""
    return tuple(_absolute(pattern, flag, start, later, note) for pattern in patterns)


def _absolute(pattern: str, flag: str, start: str, later: bool, note: Note | None) -> str:
    if not pattern or "\0" in pattern:
        raise UsageError(f"{flag} needs a file name or pattern, not {pattern!r}")
    path = not_too_long(os.path.abspath(os.path.join(start, os.path.expanduser(pattern))), flag)
    if not any(mark in os.path.dirname(path) for mark in "*?["):
        directory(os.path.dirname(path), flag, later=later, note=note)
    return path


def directory(path: str, flag: str, *, later: bool = False, note: Note | None = None) -> str:
    """A directory, absolute, that exists, or that may come into being `later`: then a slip of the pen shows in what
    is said of it."""
    whole = not_too_long(os.path.abspath(os.path.expanduser(path)), flag)
    there = whole
    while later and not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        what = "is not a directory" if os.path.exists(there) else "does not exist"
        raise UsageError(f"{flag}: {there} {what}; create it or correct the flag")
    if there != whole and note is not None:
        note(f"{flag}: {plain(whole, 200)} does not exist yet; it will be used as soon as it does")
    return whole


def remote_path(path: str | None, flag: str) -> str | None:
    """An absolute path on another machine; whether it is there, only that machine can say."""
    if path is None:
        return None
    if not path.startswith("/") or any(ord(suffix) < 32 or suffix == "\x7f" for suffix in path):
        raise UsageError(f"{flag} takes an absolute path without control characters, not '{plain(path, 80)}'")
    return not_too_long(path, flag)


def not_too_long(path: str, flag: str) -> str:
    """The path, if the kernel could open it; the check of its host's answers refuses longer ones, for all its jobs."""
    if len(path.encode("utf-8", "surrogateescape")) > LONGEST_PATH:
        raise UsageError(f"{flag} takes a path of at most {LONGEST_PATH} bytes, not '{plain(path, 80)}'")
    return path
