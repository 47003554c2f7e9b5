"""A figure: something measured, the limit it must keep and the aim it should; and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; less is better, unless it says otherwise. Without a limit it is told for information."""

    what: str
    value: float
    unit: str = "×"
    limit: float | None = None
    aim: float | None = None
    more_is_better: bool = False

    @property
    def kept(self) -> bool:
        return self.limit is None or self.value <= self.limit

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "-"
        if not self.kept:
            return "FAIL"
        return "pass" if self.aim is None or self.value <= self.aim else "pass, aim missed"


def table(figures: Sequence[Figure]) -> str:
    rows = [("", "measured", "limit", "aim", "")]
    rows += [(f.what, shown(f.value, f.unit), shown(f.limit, f.unit), shown(f.aim, f.unit), f.verdict) for f in figures]
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    lines = []
    for what, *numbers, verdict in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:4], strict=True)]
        lines.append(f"  {what.ljust(widths[0])}  {'  '.join(cells)}  {verdict}".rstrip())
    return "\n".join(lines)


def shown(value: float | None, unit: str) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    digits = 4 if unit == "×" and abs(value - 1) < 0.1 else 2 if value < 10 else 1
    return f"{value:.{digits}f} {unit}"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered)) - 1))]


def doubt(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the median, by the spread of the values around it."""
    middle = median(values)
    deviation = 1.4826 * median(abs(value - middle) for value in values)
    return 1.96 * 1.2533 * float(deviation) / float(len(values)) ** 0.5
