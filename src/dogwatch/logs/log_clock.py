"""One clock for a whole log: which of the times that its records carry to believe, and how they run on.

Pure. A clock that is set back, passes midnight without a date, or starts again with every bar goes on here
as one that only moves forward; times of several ranks that arrive out of order are put in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from dogwatch.logs.stamps import DAY

LEAST = 2
COVERED = 0.6  # of the records must carry an axis for it to be the log's
SETTLED = 3  # records in a row that say an earlier time: the clock was set, not the lines mixed
GROWS = 0.5  # of what a stopwatch would that was started with the counter
UNSEEN = 0.5  # of the time that the units of a bar take at its rate: if less went by, bars came and went unseen
_AMBIGUOUS = ("wall dmy", "wall mdy", "wall ymd")
_YEAR = 366 * DAY

Times = Mapping[str, float]


class Count(NamedTuple):
    """What a record's counter said: where it stood, and how many units a second it made."""

    done: float
    rate: float | None = None


def choose(counts: Sequence[Count], own: Sequence[Times], near: Sequence[Times]) -> list[float | None]:
    """One time per record, in seconds, never falling; None for a record that the log's clock does not cover.
    A clock that stands on the records' own lines is believed before one on lines near them."""
    for times in (own, near):
        for axis in _by_trust(times):
            raw = [row.get(axis) for row in times]
            known = [(place, value) for place, value in enumerate(raw) if value is not None]
            if len(known) < max(LEAST, COVERED * len(raw)):
                continue
            run = _RUNS[axis]([value for _, value in known], [counts[place] for place, _ in known])
            if run is not None and run[-1] > run[0]:
                filled: list[float | None] = [None] * len(raw)
                for (place, _), value in zip(known, run, strict=True):
                    filled[place] = value
                return filled
    return [None] * len(counts)


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


def _wrapped(period: float) -> Callable[[Sequence[float], Sequence[Count]], list[float]]:
    """A clock that starts again after a period: a day, a year without its number."""

    def unroll(values: Sequence[float], _: Sequence[Count]) -> list[float]:
        shift, out = 0.0, [values[0]]
        for before, now in pairwise(values):
            if now < before - period / 2:
                shift += period
            elif now > before + period / 2 and shift:
                shift -= period  # a line that was overtaken at midnight
            out.append(now + shift)
        return forward(out)

    return unroll


def _since_start(values: Sequence[float], _: Sequence[Count]) -> list[float] | None:
    """A stopwatch that may start again a few times, after a restart; one that falls all the time is none."""
    backward_jumps = sum(1 for a, b in pairwise(values) if b < a)
    if backward_jumps > max(1, len(values) // 10):
        return None
    out = [values[0]]
    for before, now in pairwise(values):
        out.append(out[-1] + (now if now < before else now - before))
    return out


def _called_time(values: Sequence[float], counts: Sequence[Count]) -> list[float] | None:
    """A number that is only called time is a stopwatch where it grows with the counter; what a unit takes does not."""
    done, way = counts[-1].done, counts[-1].done - counts[0].done
    grows = (values[-1] - values[0]) * max(done, way) >= GROWS * values[-1] * way
    return _since_start(values, counts) if grows else None


def _bars(values: Sequence[float], counts: Sequence[Count]) -> list[float]:
    """Stopwatches one after the other. Of a long log not every line is kept: the end of a bar, or whole bars, may lie
    between two records, and their units took what they take at the rate that the bars tell."""
    out = [values[0]]
    for (before, now), (last, count) in zip(pairwise(values), pairwise(counts), strict=True):
        told = now if now < before else now - before
        rate = max(last.rate or 0.0, count.rate or 0.0)
        took = (count.done - last.done) / rate if rate > 0 else 0.0
        unseen = now < before or told + 1 < UNSEEN * took  # a bar's clock shows whole seconds
        out.append(out[-1] + (max(told, took) if unseen else told))
    return out


def _paced(values: Sequence[float], counts: Sequence[Count]) -> list[float]:
    """The sum of what every unit took. The unit that a line is about took what the line says (a compilation or a
    validation in it included), the units between two lines what is usual round them."""
    out = [0.0]
    for place, (last, count) in enumerate(pairwise(counts), 1):
        units, value = max(0.0, count.done - last.done), values[place]
        usual = median_low(values[place - 1 : place + 2])
        out.append(out[-1] + (value if units >= 1 else value * units) + usual * max(0.0, units - 1))
    return out


_RUNS: dict[str, Callable[[Sequence[float], Sequence[Count]], list[float] | None]] = {
    "wall": lambda values, _: forward(values),
    "wall dmy": lambda values, _: forward(values),
    "wall mdy": lambda values, _: forward(values),
    "wall ymd": lambda values, _: forward(values),
    "yearless": _wrapped(_YEAR),
    "day": _wrapped(DAY),
    "elapsed": _since_start,
    "bar": _bars,
    "count": _called_time,
    "pace": _paced,
}
