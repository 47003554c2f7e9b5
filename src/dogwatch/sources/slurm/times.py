"""Times, lengths, sizes and counts as Slurm prints them. What cannot be read is None, never an error.

Times are asked for as unix seconds (SLURM_TIME_FORMAT=%s); the words Unknown, None, N/A, UNLIMITED, NOT_SET,
INVALID and whatever else stands there instead of a number all mean that nothing is known.
"""

from __future__ import annotations

import re
from functools import lru_cache

LAST = 253_402_300_799  # the end of the year 9999
_LENGTH = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,6})(?::([0-9]{1,6}))?(?::([0-9]{1,6}))?(\.[0-9]{1,9})?")
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)[ncB]?")
_UNITS = {unit: 1024**power for power, unit in enumerate(["", *"KMGTPE"])}


@lru_cache(32768)
def number(text: str) -> int | None:
    """A whole number that is not absurd."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def moment(text: str) -> float | None:
    """Unix seconds; 0 is Slurm's way of not knowing."""
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        return None
    seconds = float(text)
    return seconds if 0 < seconds <= LAST else None


@lru_cache(1024)
def length(text: str) -> float | None:
    """Seconds of `1-02:03:04`, `02:03:04`, `03:04` and `03:04.567`."""
    found = _LENGTH.fullmatch(text)
    if found is None:
        return None
    days, *parts, fraction = found.groups()
    given = [int(part) for part in parts if part is not None]
    if days is None and len(given) < 2:
        return None
    scale = (3600, 60, 1) if days is not None or len(given) == 3 else (60, 1)
    seconds = sum(each * unit for each, unit in zip(given, scale, strict=False))
    return float(int(days or 0) * 86400 + seconds) + float(f"0{fraction}" if fraction else 0)


def minutes(text: str) -> float | None:
    """Seconds of a time limit in bare minutes."""
    count = number(text)
    return 60.0 * count if count is not None and count <= LAST else None


def size(text: str) -> int | None:
    """Bytes of `3044K`, `6.30G` and the older `200Mn` (per node), `2Gc` (per core)."""
    found = _SIZE.fullmatch(text)
    return None if found is None else int(float(found[1]) * _UNITS[found[2]])


def resources(text: str) -> dict[str, str]:
    """`cpu=1,mem=200M,gres/gpu=2` as a mapping."""
    pairs = (part.partition("=") for part in text.split(","))
    return {name: value for name, equals, value in pairs if equals and name}


def spell(seconds: float) -> str:
    """A length of time in words: the two largest units that matter."""
    left = max(0, round(seconds))
    days, hours, mins, secs = left // 86400, left // 3600 % 24, left // 60 % 60, left % 60
    parts = [(days, "d"), (hours, "h"), (mins, "min"), (secs, "s")]
    first = next((at for at, (count, _) in enumerate(parts) if count), 3)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count) or "0 s"
