"""The one clock. Everything that needs the time is given one of these, so that tests can move it."""

from __future__ import annotations

import time


class Clock:
    """Wall time for people and records, monotonic time for every timer and patience.

    `mono` goes on counting while the machine sleeps (CLOCK_BOOTTIME), so a suspended laptop
    sees its own gap instead of silence.
    """

    def now(self) -> float:
        return time.time()

    def mono(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Which boot of the machine `mono` counts from."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def stamp(at: float | None) -> str | None:
    """RFC 3339 in UTC with milliseconds, or None where nothing is known."""
    if at is None:
        return None
    whole = int(at // 1)
    if not 0 <= whole < 253402300800:  # strftime cannot print what lies beyond the year 9999
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((at - whole) * 1000):03d}Z"
