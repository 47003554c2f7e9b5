"""Log formats of another package: checked before they are used, and what they raise is a line that was not read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dogwatch.logs.interface import Format, FormatPlugin
from dogwatch.model import LogEvent
from dogwatch.plugins import FAILURES

SHORTEST_NEEDLE = 2
TRIES = 64  # lines of a piece that look like a foreign format's and are not, before it is given up there


def check(plugin: FormatPlugin) -> None:
    """Raise ValueError for a format that the reader of logs could not work with."""
    formats: tuple[Any, ...] = plugin.formats
    for row in formats:
        if not isinstance(row, Format) or not row.needles or not callable(row.read):
            raise ValueError("it has something in its table that is not a format with needles and read")
        needles: tuple[Any, ...] = row.needles
        for needle in needles:
            if not isinstance(needle, bytes) or needle != needle.lower() or len(needle) < SHORTEST_NEEDLE:
                raise ValueError(f"{row.kind}: a needle is at least {SHORTEST_NEEDLE} bytes in lower case")
        re.compile(row.hint)


def guarded(row: Format, package: str) -> Format:
    """The format as it is used."""
    title, read, sift = f"the log format {row.kind} of {package}", row.read, row.sift

    def safe_read(line: str) -> list[LogEvent]:
        try:
            return list(read(line))
        except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
            FAILURES.add(title, error)
            return []

    def safe_sift(low: bytes) -> Iterable[tuple[str, int]]:
        try:
            return list(sift(low)) if sift is not None else []
        except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
            FAILURES.add(title, error)
            return []

    safely = None if sift is None else safe_sift
    return replace(row, read=safe_read, sift=safely, crowd=None, tries=min(row.tries, TRIES))
