"""The one clock. Everything that needs the time is given one of these, so that tests can move it."""

from __future__ import annotations

import time

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


# Counts on while the machine sleeps, which on macOS CLOCK_MONOTONIC does.
_COUNTS_SLEEP = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock:
    """Wall time for people and records, monotonic time for every timer and timeout.

    `mono` goes on counting while the machine sleeps, so a suspended laptop sees its own gap instead of silence.
    """

    def now(self) -> float:
        return time.time()

    def mono(self) -> float:
        return time.clock_gettime(_COUNTS_SLEEP)


def boot_id() -> str:
    """Which boot of the machine `mono` counts from; empty where there is no /proc."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def stamp(at: float | None) -> str | None:
    """RFC 3339 in UTC with milliseconds, or None where nothing is known."""
    if at is None:
        return None
    whole = int(at // 1)
    if not 0 <= whole < 253402300800:  # strftime cannot print what lies beyond the year 9999
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((at - whole) * 1000):03d}Z"


def recorded(at: float) -> str:
    """A moment that somebody recorded, as documents have it; one that no calendar has is the nearest that one has."""
    return stamp(min(max(at, 0.0), 253402300799.0)) or ""


def local(at: float, now: float, seconds: bool = False) -> str:
    """A moment as people read it on a screen: the local time of day, with the date when that is not today."""
    if not 0 <= at < 253402300800:
        return "-"
    then, today = time.localtime(at), time.localtime(now)
    text = f"{then.tm_hour:02d}:{then.tm_min:02d}" + (f":{then.tm_sec:02d}" if seconds else "")
    if then[:3] == today[:3]:
        return text
    date = f"{then.tm_mday} {_MONTHS[then.tm_mon - 1]}"
    return f"{date} {text}" if then.tm_year == today.tm_year else f"{date} {then.tm_year} {text}"


def local_date(at: float) -> str:
    """A moment for what is read later or elsewhere, as a message is: local date and time, with the time zone."""
    return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(at)).rstrip() if 0 <= at < 253402300800 else "-"
