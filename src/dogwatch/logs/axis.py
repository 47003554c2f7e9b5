"""One clock for a whole log: which of the times that its records carry to believe, and how they run on.

Pure. A clock that is set back, passes midnight without a date, or starts again with every bar goes on here
as one that only moves forward; times of several ranks that arrive out of order are put in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from dogwatch.logs.stamps import DAY

LEAST = 2
COVERED = 0.6  # of the records must carry an axis for it to be the log's
SETTLED = 3  # records in a row that say an earlier time: the clock was set, not the lines mixed
_AMBIGUOUS = ("wall dmy", "wall mdy", "wall ymd")
_YEAR = 366 * DAY

Times = Mapping[str, float]


def choose(steps: Sequence[float], own: Sequence[Times], near: Sequence[Times]) -> list[float | None]:
    """One time per record, in seconds, never falling; None for a record that the log's clock does not cover.
    A clock that stands on the records' own lines is believed before one on lines near them."""
    for times in (own, near):
        for axis in _by_trust(times):
            raw = [row.get(axis) for row in times]
            known = [(place, value) for place, value in enumerate(raw) if value is not None]
            if len(known) < max(LEAST, COVERED * len(raw)):
                continue
            values, counts = [value for _, value in known], [steps[place] for place, _ in known]
            run = _RUNS[axis](values, counts)
            if run is not None and run[-1] > run[0]:
                filled: list[float | None] = [None] * len(raw)
                for (place, _), value in zip(known, run, strict=True):
                    filled[place] = value
                return filled
    return [None] * len(steps)


def _by_trust(times: Sequence[Times]) -> list[str]:
    """The axes, the surest first; of the ways to read a date, the one that makes the shortest story."""
    ways = sorted(_AMBIGUOUS, key=lambda axis: _story(times, axis))
    return ["wall", *ways, "yearless", "day", "elapsed", "bar", "count", "pace"]


def _story(times: Sequence[Times], axis: str) -> tuple[float, float, int]:
    values = [row[axis] for row in times if axis in row]
    missing = sum(1 for row in times if any(way in row for way in _AMBIGUOUS)) - len(values)
    backward = sum(1 for a, b in pairwise(values) if b < a - DAY / 2)
    span = max(values) - min(values) if values else 0.0
    return missing + backward, span, _AMBIGUOUS.index(axis)


def forward(values: Sequence[float]) -> list[float]:
    """The same clock, never falling. One late value is a line that was overtaken; several in a row mean that
    the clock was set back, and from there it runs on from where it stood."""
    shift, out = 0.0, [values[0]]
    for place, value in enumerate(values[1:], 1):
        now = value + shift
        if now < out[-1]:
            ahead = values[place + 1 : place + SETTLED]
            if len(ahead) == SETTLED - 1 and all(later + shift < out[-1] for later in ahead):
                shift += out[-1] - now
            now = out[-1]
        out.append(now)
    return out


def _wrapped(period: float) -> Callable[[Sequence[float], Sequence[float]], list[float]]:
    """A clock that starts again after a period: a day, a year without its number."""

    def unroll(values: Sequence[float], _: Sequence[float]) -> list[float]:
        turns, out = 0.0, [values[0]]
        for before, now in pairwise(values):
            if now < before - period / 2:
                turns += period
            elif now > before + period / 2 and turns:
                turns -= period  # a line that was overtaken at midnight
            out.append(now + turns)
        return forward(out)

    return unroll


def _since_start(values: Sequence[float], _: Sequence[float]) -> list[float] | None:
    """A stopwatch that may start again a few times, after a restart; one that falls all the time is none."""
    falls = sum(1 for a, b in pairwise(values) if b < a)
    return _bars(values, ()) if falls <= max(1, len(values) // 10) else None


def _bars(values: Sequence[float], _: Sequence[float]) -> list[float]:
    """Stopwatches one after the other."""
    base, out = 0.0, [values[0]]
    for before, now in pairwise(values):
        if now < before:
            base += before
        out.append(base + now)
    return out


def _paced(values: Sequence[float], steps: Sequence[float]) -> list[float]:
    """The sum of what every unit took. The unit that a line is about took what the line says (a validation in
    it included), the units between two lines what is usual."""
    out, usual = [0.0], values[0]
    for (a, b), value in zip(pairwise(steps), values[1:], strict=True):
        recent = sorted((usual, value, values[max(0, len(out) - 2)]))
        usual = recent[1]
        units = max(0.0, b - a)
        out.append(out[-1] + (value if units >= 1 else value * units) + usual * max(0.0, units - 1))
    return out


_RUNS: dict[str, Callable[[Sequence[float], Sequence[float]], list[float] | None]] = {
    "wall": lambda values, _: forward(values),
    "wall dmy": lambda values, _: forward(values),
    "wall mdy": lambda values, _: forward(values),
    "wall ymd": lambda values, _: forward(values),
    "yearless": _wrapped(_YEAR),
    "day": _wrapped(DAY),
    "elapsed": _since_start,
    "bar": _bars,
    "count": _since_start,
    "pace": _paced,
}
