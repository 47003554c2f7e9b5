"""Expect: flags that say what should be true of a job, checked and made absolute."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError
from collections.abc import Sequence

from dogwatch.cli.out import say
from dogwatch.errors import UsageError
from dogwatch.text import plain


def positive(number: int | None, flag: str) -> int | None:
    """A whole number above zero, or None where nothing was said."""
    if number is not None and number < 1:
        raise UsageError(f"{flag} must be a whole number of at least 1, not {number}")
    return number


def count(text: str) -> int:
    """A whole number as people write it: 100000, 100,000 or 100_000."""
    if not re.fullmatch(r"[-+]?\d{1,3}([,_]\d{3})+|[-+]?\d{1,18}", text, re.ASCII):
        raise ArgumentTypeError(f"{plain(text, 40)!r} is not a whole number; write it as 100000 or 100,000")
    return int(text.replace(",", ""))


def seconds(text: str | None, flag: str) -> float | None:
    """A duration above zero, or None where nothing was said."""
    from dogwatch.config import duration

    return None if text is None else duration(text, flag)


def growth(text: str | None, flag: str) -> float | None:
    """Bytes per second, or None where nothing was said."""
    from dogwatch import config

    return None if text is None else config.growth(text, flag)


def globs(patterns: Sequence[str], flag: str, start: str = "", *, later: bool = False) -> tuple[str, ...]:
    """File patterns, absolute, from `start` on as the job itself would name them; the directory above the first
    wildcard must be there, unless the job may make it `later`."""
    return tuple(_absolute(pattern, flag, start, later) for pattern in patterns)


def _absolute(pattern: str, flag: str, start: str, later: bool) -> str:
    if not pattern or "\0" in pattern:
        raise UsageError(f"{flag} needs a file name or pattern, not {pattern!r}")
    path = os.path.abspath(os.path.join(start, os.path.expanduser(pattern)))
    if not any(mark in os.path.dirname(path) for mark in "*?["):
        directory(os.path.dirname(path), flag, later=later)
    return path


def directory(path: str, flag: str, *, later: bool = False) -> str:
    """A directory, absolute, that exists, or that may come into being `later`: then a slip of the pen shows in what
    is said of it."""
    whole = os.path.abspath(os.path.expanduser(path))
    there = whole
    while later and not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        what = "is not a directory" if os.path.exists(there) else "does not exist"
        raise UsageError(f"{flag}: {there} {what}; create it or correct the flag")
    if there != whole:
        say(f"{flag}: {plain(whole, 200)} is not there yet; it will be looked for")
    return whole


def remote_path(path: str | None, flag: str) -> str | None:
    """An absolute path on another machine; whether it is there, only that machine can say."""
    if path is None:
        return None
    if not path.startswith("/") or any(ord(letter) < 32 or letter == "\x7f" for letter in path):
        raise UsageError(f"{flag} takes an absolute path without control characters, not '{plain(path, 80)}'")
    return path
