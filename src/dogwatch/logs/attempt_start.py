"""Where in a log an attempt begins, if others wrote to the same log before; pure.

Slurm's last line about the run before shows it, or else the times in the lines. A time without a zone is local to the
host that wrote it: the file's last write, which is known in UTC, shows the difference.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from dogwatch.logs.stamps import dated

CLOSE = 5.0  # seconds that the clock of a node may be behind that of its scheduler
NEARBY = 64  # lines among which one with a time is looked for
LINE = 4096  # bytes of a line that are read
ZONE, FURTHEST = 1800.0, 14 * 3600.0  # zones are half-hours apart
LATEST = 840.0  # seconds from the last line with a time to the last write for which a zone can be told
_NEWLINE = re.compile(rb"\n")
_PUT_BACK = re.compile(
    rb"\*\*\* JOB [0-9_+]{1,24} ON [^\s]{1,80} CANCELLED AT [^\s]{1,40} DUE TO (?:JOB REQUEUE|PREEMPTION|NODE FAILURE)"
)


def attempt_start(text: bytes, since: float, written: float) -> int | None:
    """The place of the first line of an attempt that began at `since`, in a text that was last `written` then: 0 where
    all of it may be the attempt's, None where nothing tells."""
    banners = list(_PUT_BACK.finditer(text))
    if banners:
        return text.find(b"\n", banners[-1].end()) + 1 or len(text)
    first, last = _stamped(text, 0, len(text)), _last_stamped(text)
    if first is None or last is None:
        return None
    zone = _zone(last[1], written)
    if zone is None:
        return None
    wanted = since - CLOSE - zone
    if first[1] >= wanted:
        return 0
    return _first_from(text, wanted) if last[1] >= wanted else None


def _zone(last: float, written: float) -> float | None:
    """What to add to a time in the lines, by the last of them; None where the file was written too long after it."""
    zone = round((written - last) / ZONE) * ZONE
    late = written - last - zone
    return zone if abs(zone) <= FURTHEST and -60.0 <= late <= LATEST else None


def _first_from(text: bytes, wanted: float) -> int | None:
    """The place of the first line with that time or a later one; times only rise."""
    starts = [0, *(found.end() for found in _NEWLINE.finditer(text))]
    low, high = 0, len(starts) - 1
    while low < high:
        middle = (low + high) // 2
        found = _stamped(text, starts[middle], len(text))
        if found is None or found[1] >= wanted:
            high = middle
        else:
            low = bisect_left(starts, found[0]) + 1
    first = _stamped(text, starts[low], len(text))
    return None if first is None or first[1] < wanted else first[0]


def _stamped(text: bytes, start: int, stop: int) -> tuple[int, float] | None:
    """The first line with a time from `start` on: its place, and the time as if it were UTC."""
    for _ in range(NEARBY):
        if start >= stop:
            return None
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        at = _time(text[start : min(end, start + LINE)])
        if at is not None:
            return start, at
        start = end + 1
    return None


def _last_stamped(text: bytes) -> tuple[int, float] | None:
    end = len(text)
    for _ in range(NEARBY):
        start = text.rfind(b"\n", 0, max(0, end)) + 1
        at = _time(text[start : min(end, start + LINE)])
        if at is not None:
            return start, at
        if start == 0:
            return None
        end = start - 1
    return None


def _time(line: bytes) -> float | None:
    return dated(line.decode("utf-8", "replace")).get("wall")
