"""The times that a log line carries, each on its own axis, in seconds.

An axis is one clock: `wall` (date and time), `wall dmy`, `wall mdy`, `wall ymd` (a date that can be read in several
ways), `yearless`, `day` (time of day alone), `elapsed` (since a start), `bar` (since a progress bar's start),
`count` (a number called time, which may be either) and `pace` (seconds per unit). `log_clock.py` makes
one clock of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from dogwatch.logs.lazily import lazily

HEAD = 160  # characters of a line in which a date or a time of day is looked for
WINDOW = 8192  # and in which anything else is
DAY = 86400.0
LEAP = 2024  # the year of dates without one: it has every day
_CLOCK = r"([01]?\d|2[0-4]):([0-5]\d):([0-5]\d|60)(?:[.,:](\d{1,9}))?(?!\d)"
_ZONE = r"(?:\s?([AP]M)\b)?\s?(Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d(?!\d))?"
_ISO = lazily(rf"(?<!\d)(20\d\d|19[89]\d)([-/.])(\d\d?)\2(\d\d?)[T _:,-]{{1,3}}{_CLOCK}{_ZONE}", re.ASCII)
_SLASHED = lazily(rf"(?<![\d/])(\d\d?)([-/.])(\d\d?)\2(20\d\d|\d\d),?[T _-]{{1,2}}{_CLOCK}{_ZONE}", re.ASCII)
_YEARLESS = lazily(rf"(?<![\d/.-])(\d\d?)[-/](\d\d?)[ _]{{1,2}}{_CLOCK}", re.ASCII)
_GLOG = lazily(rf"(?<![A-Za-z0-9])[IWEFDC](\d\d)(\d\d) {{1,2}}{_CLOCK}", re.ASCII)
_GLOG_EARLY = lazily(r"(?<![A-Za-z0-9])[IWEF]0000 00:00:(1\d{9}(?:\.\d{1,9})?)", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TITLED = tuple(month.title() for month in _MONTHS)
_NAMED = lazily(
    rf"(?<![A-Za-z])(?:(\d\d?)[ -])?({'|'.join(_TITLED)})[a-z]{{0,6}}\.?[ -]"
    rf"{{0,2}}(\d\d?(?!\d))?,?[ -]{{0,2}}(20\d\d)?,?[ :T]{{1,2}}{_CLOCK}{_ZONE}(?:\s?(20\d\d))?",
    re.ASCII,
)
_OF_DAY = lazily(r"(?:^|[\[( |])(\d\d):([0-5]\d):([0-5]\d)(?:[.,:](\d{1,9}))?(?=[\]) |,]|$|: )", re.ASCII)
_NOT_OF_DAY = ("elapsed", "eta", "remaining", "left", "took", "runtime", "duration", "time:")
_EPOCH = lazily(r"(?<![\d.])(1[0-9]{9})(?:\.(\d{1,9})|(\d{3}))?(?![\d.])", re.ASCII)
_EPOCH_KEYS = ('"time', '"ts"', '"t"', '"_timestamp"', '"created"', '"epoch_time"', '"wall_time"', '"unix', "'time")
_ELAPSED = lazily(
    r"(?<![a-z])(?:elapsed(?:[_ ]time|[_ ]seconds|[_ ]s)?|time[_ ]elapsed|train_time|wall(?:[_ ]time)?|total[_ ]time"
    r"|walltime|run_?time|time[_ ]since[_ ]start)[\"']?(?: ?\((ms|s|sec|seconds)\))?[ :=]{1,3}[\"']?(?=\d)",
    re.ASCII,
)
_ELAPSED_WORDS = ("elapsed", "train_time", "wall", "total_time", "total time", "runtime", "run_time", "since")
_COLONS = lazily(r"(?:(\d{1,4})(?: days?, | ?d ?|-))?(?:(\d{1,6}):)?(\d{1,6}):(\d\d(?:\.\d{1,9})?)", re.ASCII)
_LETTERS = lazily(
    r"(?:(\d{1,4}) ?d(?:ays?)?,? ?)?(?:(\d{1,6}) ?h(?:ours?)?,? ?)?(?:(\d{1,6}) ?m(?:in(?:utes?)?)?,? ?)?"
    r"(?:(\d{1,12}(?:\.\d{1,9})?) ?(ms|s|))",
    re.ASCII,
)
_BAR = lazily(
    r"\[(?:(\d{1,3}) days?, )?(?:(\d{1,5}):)?(\d{1,2}):(\d\d)(?:<|, {1,4}(?:[\d.]{1,12}|\?)[^\s,\]]{1,24})", re.ASCII
)
_PACE = lazily(
    r"(?:elapsed time per iteration|iter(?:ation)?[_ ]time|step[_ ]time|time[_ ]per[_ ](?:iter(?:ation)?|step)"
    r"|(?<![a-z_])time)[\"']?(?: ?\((ms|s)\))?[ :=]{1,3}(\d{1,12}(?:\.\d{1,9})?) ?(ms\b|s\b)?",
    re.ASCII,
)
# In every line that has a clock of `dated`; bytes, for the scanner.
CLOCKED = rb"1\d{9}|[T _:,-]\d?\d:[0-5]\d:[0-6]|(?:^|[\n\[(|])\d\d:[0-5]\d:[0-5]"
_COUNT = lazily(r"(?<![a-z_ ] )(?<![a-z_])time\"?[:=] ?(\d{1,9}(?:\.\d{1,9})?)(?=[,;}\])]|$)", re.ASCII)


def stamps(line: str) -> dict[str, float]:
    """Every time in one line, by axis; empty for a line without any."""
    found = dated(line)
    if "[" in line and ":" in line:
        _bar(line, found)
    low = line[:WINDOW].lower()
    if any(word in low for word in _ELAPSED_WORDS):
        _elapsed(low, found)
    if "time" in low:
        _pace(low, found)
    return found


def dated(line: str) -> dict[str, float]:
    """Only the clock that ran beside the log: what an unrelated line near a record may lend it."""
    found: dict[str, float] = {}
    if ":" in line:
        _dates(line[:HEAD], found)
    _epoch(line, found)
    return found


def _dates(head: str, found: dict[str, float]) -> None:
    for read in _READERS:
        if read(head, found):
            return


def _iso(head: str, found: dict[str, float]) -> bool:
    at = _ISO.search(head)
    return at is not None and _put(found, "wall", (at[1], at[3], at[4]), at.groups()[4:])


def _slashed(head: str, found: dict[str, float]) -> bool:
    """03/04/2026 and 03/04/26: which of the numbers is the day, only the whole log can tell."""
    at = _SLASHED.search(head)
    if not at:
        return False
    one, two, three, rest = at[1], at[3], at[4], at.groups()[4:]
    century = three if len(three) == 4 else f"20{three}"
    told = [
        _put(found, "wall dmy", (century, two, one), rest),
        _put(found, "wall mdy", (century, one, two), rest),
    ]
    if len(three) == 2 and at[2] == "/":
        told.append(_put(found, "wall ymd", (f"20{one.zfill(2)}", two, three), rest))
    return any(told)


def _named(head: str, found: dict[str, float]) -> bool:
    """Jan  2 03:04:05, 2 Jan 2026 03:04:05, Sun Feb 23 16:24:18 2025, Mar 29, 22:22:33."""
    at = _NAMED.search(head) if any(month in head for month in _TITLED) else None
    day = at and (at[1] or at[3])
    if not at or not day:
        return False
    month, year = str(_MONTHS.index(at[2].lower()) + 1), at[4] or at[11]
    return _put(found, "wall" if year else "yearless", (year or str(LEAP), month, day), at.groups()[4:10])


def _glog(head: str, found: dict[str, float]) -> bool:
    at = _GLOG.search(head)
    if at:
        return _put(found, "yearless", (str(LEAP), at[1], at[2]), (*at.groups()[2:], None, None))
    early = _GLOG_EARLY.search(head)
    if early:
        found["wall"] = float(early[1])
    return bool(early)


def _yearless(head: str, found: dict[str, float]) -> bool:
    at = _YEARLESS.search(head)
    return at is not None and _put(found, "yearless", (str(LEAP), at[1], at[2]), (*at.groups()[2:], None, None))


def _of_day(head: str, found: dict[str, float]) -> bool:
    """A time of day near the start of a line, unless a word before it says that it is a length of time."""
    at = _OF_DAY.search(head[:64])
    if not at or int(at[1]) > 23 or head[: at.start()].lower().rstrip(" =:").endswith(_NOT_OF_DAY):
        return False
    found["day"] = int(at[1]) * 3600 + int(at[2]) * 60 + int(at[3]) + _part(at[4])
    return True


_READERS: tuple[Callable[[str, dict[str, float]], bool], ...] = (_iso, _slashed, _named, _glog, _yearless, _of_day)


def _put(found: dict[str, float], axis: str, day: tuple[str, str, str], clock: tuple[str | None, ...]) -> bool:
    """Seconds since 1970 of a date and a clock; a clock without a zone counts as UTC."""
    midnight = _midnight(*day)
    if midnight is None:
        return False
    hour, half, zone = int(clock[0] or 0), clock[4], clock[5]
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "PM" else 0)
    seconds = midnight + hour * 3600 + int(clock[1] or 0) * 60 + int(clock[2] or 0) + _part(clock[3])
    found[axis] = seconds - _offset(zone)
    return True


@lru_cache(512)
def _midnight(year: str, month: str, day: str) -> float | None:
    try:
        return (date(int(year), int(month), int(day)).toordinal() - 719163) * DAY
    except ValueError:
        return None


def _part(digits: str | None) -> float:
    return float(f"0.{digits}") if digits else 0.0


def _offset(zone: str | None) -> float:
    if not zone or zone[0] not in "+-":
        return 0.0
    seconds = int(zone[1:3]) * 3600.0 + int(zone[-2:]) * 60.0
    return -seconds if zone[0] == "-" else seconds


def _epoch(line: str, found: dict[str, float]) -> None:
    """Seconds or milliseconds since 1970 under a key that says time, or in brackets at the start."""
    if "wall" in found:
        return
    places = [at for key in _EPOCH_KEYS if (at := line.find(key, 0, WINDOW)) >= 0]
    if not places and line[:24].lstrip(" 0123456789:")[:2] == "[1":
        places = [line.index("[1")]
    for place in places:
        counted = _EPOCH.search(line, place, place + 40)
        if counted:
            found["wall"] = float(counted[1]) + _part(counted[2] or counted[3])
            return
        if _iso(line[place : place + 80], found):
            return


def _bar(line: str, found: dict[str, float]) -> None:
    """The last bar's own clock: `[elapsed<left, rate]`."""
    start = max(line.rfind("<"), line.rfind(", "))
    bars = list(_BAR.finditer(line, max(0, start - 4096), start + 64))
    if bars:
        at = bars[-1]
        found["bar"] = int(at[1] or 0) * DAY + int(at[2] or 0) * 3600 + int(at[3]) * 60 + int(at[4])


def _elapsed(low: str, found: dict[str, float]) -> None:
    at = _ELAPSED.search(low)
    seconds = span(low, at.end(), at[1] == "ms") if at else None
    if seconds is not None and seconds < 1e9:
        found["elapsed"] = seconds


def span(text: str, at: int = 0, thousandths: bool = False) -> float | None:
    """Seconds of a length of time written at `at`: 1 day, 2:03:04 or 12:34 or 1h 2m 3s or 12.5 or 12345ms."""
    colons = _COLONS.match(text, at)
    if colons:
        days, hours, minutes, seconds = (float(part or 0) for part in colons.groups())
        return days * DAY + hours * 3600 + minutes * 60 + seconds
    letters = _LETTERS.match(text, at)
    if not letters:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in letters.groups()[:4])
    seconds *= 1e-3 if letters[5] == "ms" or (thousandths and not letters[5]) else 1.0
    return days * DAY + hours * 3600 + minutes * 60 + seconds


def _pace(low: str, found: dict[str, float]) -> None:
    at = _PACE.search(low)
    unit = at and (at[1] or at[3])
    if at and unit:
        found["pace"] = float(at[2]) * (1e-3 if unit == "ms" else 1.0)
    count = _COUNT.search(low)
    if count:
        found["count"] = float(count[1])
