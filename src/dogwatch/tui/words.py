"""Numbers and times in the words people use; what is not known is "-". Pure, light, ASCII only.

Nothing here takes text that came from a job: whoever passes a unit has made it plain before.
"""

from __future__ import annotations

from dogwatch.clock import local
from dogwatch.text import lasting

UNKNOWN = "-"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 31557600
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_HUGE = 1e15

LEVELS = ("critical", "warning", "info")
_LEVEL_MARKS = {"critical": "!!", "warning": "! ", "info": "- "}


def known(number: float | None) -> bool:
    """Whether there is a number that can be said at all: not None, not NaN, not infinite."""
    return number is not None and number == number and abs(number) != float("inf")


def span(seconds: float | None) -> str:
    """A length of time in its two largest units: 45s, 12m, 2h 34m, 3d 4h."""
    if seconds is None or not known(seconds):
        return UNKNOWN
    if seconds < 0:
        text = span(-seconds)
        return text if text == "0s" else "-" + text
    whole = int(seconds)
    if whole >= 100 * _YEAR:
        return "over 100 years"
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE and whole % _MINUTE:
        return f"{whole // _MINUTE}m {whole % _MINUTE}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < _DAY:
        return _pair(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "m")
    return _pair(whole // _DAY, "d", whole % _DAY // _HOUR, "h")


def _pair(big: int, big_unit: str, small: int, small_unit: str) -> str:
    return f"{big:,}{big_unit} {small}{small_unit}" if small else f"{big:,}{big_unit}"


def between(low: float | None, high: float | None) -> str:
    """An interval of times in one breath: 10-15m, 40s-2m, 1h 50m-2h 10m."""
    if low is None or high is None or not (known(low) and known(high)):
        return UNKNOWN
    low, high = max(0.0, low), max(0.0, high)
    first, second = _rough(low), _rough(high)
    if first == second:
        return first
    if first[-1] == second[-1] and " " not in first + second:
        first = first[:-1]
    return f"{first}-{second}"


def _rough(seconds: float) -> str:
    """A span without its seconds once there are minutes: nobody estimates to the second."""
    return span(seconds if seconds < _MINUTE else round(seconds / _MINUTE) * _MINUTE)


def roughly(seconds: float | None) -> str:
    """How long something may still take; the precision of an estimate, not of a stopwatch."""
    if seconds is None or not known(seconds):
        return UNKNOWN
    return _rough(seconds) if seconds >= 0 else "-" + _rough(-seconds)


def short_reason(reason: str | None) -> str:
    """Why there is no estimate, in two or three words for a table; nothing where it is only too early for one."""
    head = (reason or "").partition(":")[0]
    told = ("cannot finish", "may not finish", "stalled", "suspended", "no progress")
    return head if head in told or head.startswith("worker") else ""


def since(at: str | None, now: float) -> float | None:
    """Seconds from an RFC 3339 moment until now; negative when it lies ahead."""
    then = moment(at)
    return None if then is None else now - then


def ago(at: str | None, now: float) -> str:
    """How long ago an RFC 3339 moment was: just now, 2s ago, in 5m (a clock that runs ahead), never."""
    passed = since(at, now)
    if passed is None:
        return "never"
    if -1 < passed < 1:
        return "just now"
    return f"{span(passed)} ago" if passed > 0 else f"in {span(-passed)}"


def size(amount: float | None) -> str:
    """Bytes in decimal units: 0 B, 999 B, 1.4 GB, 120 GB."""
    if amount is None or not known(amount):
        return UNKNOWN
    if amount < 0:
        return "-" + size(-amount)
    number, unit = _scaled(amount)
    return f"{number} {unit}"


def short_size(amount: float | None) -> str:
    """Bytes in at most four characters, for a table: 999, 1.4G, 120G."""
    if amount is None or not known(amount) or amount < 0:
        return UNKNOWN
    number, unit = _scaled(amount)
    letter = unit[0] if unit != "B" else ""
    digits = str(round(float(number.replace(",", "")))) if len(number) > 3 else number
    return digits + letter.upper()


def _scaled(amount: float) -> tuple[str, str]:
    power = 0
    while power < len(_SIZES) - 1 and amount >= (999.5 if power else 1000):
        amount /= 1000
        power += 1
    if not power:
        return str(int(amount)), _SIZES[0]
    return (f"{amount:.1f}" if amount < 99.95 else f"{amount:,.0f}"), _SIZES[power]


def growth(per_minute: float | None) -> str:
    """How fast bytes gather: +12.0 MB/min, or no growth."""
    if per_minute is None or not known(per_minute):
        return UNKNOWN
    if abs(per_minute) < 1:
        return "no growth"
    return ("+" if per_minute > 0 else "") + size(per_minute) + "/min"


def count(number: float | None) -> str:
    """A counter with thousands marked: 1,234,567; a fraction keeps one digit."""
    if number is None or not known(number):
        return UNKNOWN
    if abs(number) >= _HUGE:
        return f"{number:.1e}"
    return f"{int(number):,}" if number == int(number) else f"{number:,.1f}"


def figure(number: float | None) -> str:
    """A measured number with about three digits that mean something: 1,204 or 41.2 or 0.53."""
    if number is None or not known(number):
        return UNKNOWN
    size_of = abs(number)
    if size_of >= _HUGE:
        return f"{number:.1e}"
    if size_of >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if size_of >= 9.995 else f"{number:.2f}" if size_of else "0"


def short_figure(number: float | None) -> str:
    """A measured number in at most four characters, for a table: 0.5, 41.2, 1204, 12k, 1.2M."""
    if number is None or not known(number) or number < 0:
        return UNKNOWN
    if number < 9.95:
        return f"{number:.1f}" if number >= 0.095 or not number else f"{number:.2f}"[:4]
    if number < 99.95:
        return f"{number:.1f}"
    if number < 9999.5:
        return f"{number:.0f}"
    scaled, letter = (number / 1e3, "k") if number < 999500 else (number / 1e6, "M")
    return f"{scaled:.1f}{letter}" if scaled < 9.95 else f"{scaled:.0f}{letter}" if scaled < 999.5 else "lots"


def rate(number: float | None, unit: str = "items") -> str:
    """A speed per second, or per minute or hour where that says more: 1,204 images/s, 30.0 steps/min."""
    if number is None or not known(number):
        return UNKNOWN
    pace, per = _paced(number)
    return f"{figure(pace)} {unit}/{per}"


def rates(now: float | None, average: float | None, unit: str = "items") -> str:
    """Speed now and on average, in the same unit so that the two can be compared."""
    if now is None or not known(now):
        return UNKNOWN if average is None else f"{rate(average, unit)} on average"
    if average is None or not known(average):
        return f"{rate(now, unit)} now"
    per = _paced(now or average)[1]
    factor = {"s": 1, "min": _MINUTE, "h": _HOUR}[per]
    return f"{figure(now * factor)} {unit}/{per} now, {figure(average * factor)} average"


def _paced(number: float) -> tuple[float, str]:
    if number == 0 or abs(number) >= 1:
        return number, "s"
    return (number * _MINUTE, "min") if abs(number) * _MINUTE >= 1 else (number * _HOUR, "h")


def percent(fraction: float | None, digits: int = 1) -> str:
    """A share in percent, rounded down: 100 % is said of what is whole, never of what is nearly so."""
    if fraction is None or not known(fraction) or fraction < 0:
        return UNKNOWN
    if fraction >= 1:
        return "100 %"
    scale = 10**digits
    if 0 < fraction < 0.01 / scale:
        return f"<{1 / scale:.{digits}f} %"
    return f"{int(fraction * 100 * scale + 1e-9) / scale:.{digits}f} %"


def moment(at: str | None) -> float | None:
    """Unix seconds of an RFC 3339 time, None for what is not one.

    By hand, because datetime and strptime cost more to import than `dogwatch ls` may take to run.
    """
    if not at or len(at) < 20 or at[10] not in "Tt ":
        return None
    try:
        year, month, day = int(at[0:4]), int(at[5:7]), int(at[8:10])
        clock_seconds = int(at[11:13]) * _HOUR + int(at[14:16]) * _MINUTE + int(at[17:19])
        rest = at[19:]
        digits = 0
        while rest[0] == "." and rest[digits + 1].isdigit():
            digits += 1
        fraction, zone = (float("0" + rest[: digits + 1]), rest[digits + 1 :]) if digits else (0.0, rest)
        return _days(year, month, day) * _DAY + clock_seconds + fraction - _offset(zone)
    except (ValueError, IndexError):
        return None


def _offset(zone: str) -> int:
    if zone in ("Z", "z"):
        return 0
    pattern = {"+": 1, "-": -1}.get(zone[0], 0)
    if not pattern or len(zone) != 6:
        raise ValueError(zone)
    return pattern * (int(zone[1:3]) * _HOUR + int(zone[4:6]) * _MINUTE)


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar (counted from March, so
    that the leap day comes last)."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError(month)
    year -= month <= 2
    in_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - 719468


def clock(at: str | float | None, now: float, seconds: bool = False) -> str:
    """The local clock time of a moment, with its date when that is not today: 13:49, 16 Nov 13:49."""
    then = moment(at) if isinstance(at, str) else at
    return UNKNOWN if then is None or not known(then) else local(then, now, seconds)


def unreachable(since: str | float | None, confirmed: str | float | None, now: float) -> str:
    """That a job's host does not answer, and how old what is shown of the job is: unreachable since 01:02; last
    confirmed 62 s ago."""
    last = moment(confirmed) if isinstance(confirmed, str) else confirmed
    told = "never confirmed" if last is None else f"last confirmed {lasting(max(0.0, now - last))} ago"
    return f"unreachable since {clock(since, now)}; {told}"


def due(at: float, now: float) -> str:
    """The clock time of a moment to come; within half a day its date says nothing, not over midnight either."""
    return clock(at, at if 0 <= at - now < _DAY / 2 else now)


def level(word: str) -> str:
    """The two-character mark of a level, so that a colour never says anything alone."""
    return _LEVEL_MARKS.get(word, _LEVEL_MARKS["info"])


def plural(number: int, noun: str) -> str:
    """1 file, 12 files, 2 batches."""
    ending = "" if number == 1 else "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun}{ending}"
