"""Tables in a log: a line that names columns, one of which counts a loop, and the rows of numbers under it; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dogwatch.logs.shape import LAUNCHED, LONGEST, LOOP, NEVER, Number, column

MOST_CELLS = 48
_CELL = re.compile(
    r"[-+]?(\d{1,15})(?:/(\d{1,15})|\.0{1,6})?|[-+]?[\d.]{1,24}(?:e[-+]?\d{1,3})?[a-z%]{0,3}|[\d:.]{1,20}|nan|-?inf"
    r"|tensor\([^()]{1,80}\)",
    re.ASCII,
)
_NUMBER = re.compile(r"[-+]?\d[\d.]{0,24}(?:e[-+]?\d{1,3})?[a-z%]{0,3}", re.ASCII)
_WIDE = re.compile(r"\t|[ ]{2,}|\|")


@dataclass(frozen=True, slots=True)
class Header:
    """Its text, and for each number of cells that its rows may have, the columns that count and their units; where only
    the cells before the first bar are meant, that number is below nought."""

    text: str
    columns: dict[int, dict[int, str]]

    def __bool__(self) -> bool:
        return bool(self.text)

    def row(self, line: str) -> tuple[tuple[Number, ...], tuple[float | None, ...]] | None:
        """What a line counts that is a row of this table."""
        low = line.lower()
        for cells in (_cells(low), _words(low), _barred(low)):
            if (counting := self.columns.get(len(cells))) is not None:
                break
        else:
            cells = _ahead(line)
            counting = self.columns.get(-len(cells))
        if counting is None:
            return None
        read = [_CELL.fullmatch(cell) for cell in cells]
        if sum(cell is not None for cell in read) * 2 < len(read):
            return None
        numbers: list[Number] = []
        values: list[float | None] = []
        for place, unit in counting.items():
            cell = read[place]
            if cell is None or cell[1] is None:
                return None
            numbers.append(Number(unit, LOOP, False))
            values.append(float(cell[1]))
            if cell[2] is not None:
                numbers.append(Number("", NEVER, True))
                values.append(float(cell[2]))
        return (*numbers, Number("", NEVER, False)), (*values, None)


def header(line: str) -> Header | None:
    """The header that a line is, if it is one: no cell of it is a number."""
    text = line.strip()
    launched = LAUNCHED.match(text)
    if not 3 < len(text) < LONGEST or any(
        map(_NUMBER.fullmatch, text[launched.end() if launched else 0 :].lower().split())
    ):
        return None
    columns: dict[int, dict[int, str]] = {}
    wide = [cell for cell in _WIDE.split(text.strip("| \t")) if cell]
    for cells in (_cells(text), _words(text), wide, ahead := _ahead(text)):
        counting = {place: unit for place, cell in enumerate(cells) if (unit := column(cell))}
        if 2 <= len(cells) <= MOST_CELLS and counting:
            columns.setdefault(-len(cells) if cells is ahead else len(cells), counting)
    return Header(text, columns) if columns else None


def _barred(line: str) -> list[str]:
    """The first word of every cell between bars: what stands behind it is a remark."""
    return [cell.split()[0] for cell in line.split("|") if cell.strip()] if "|" in line else []


def _ahead(line: str) -> list[str]:
    """The words before a line's first bar, behind which a table may say what it likes."""
    ahead, bar, _ = line.partition("|")
    return ahead.split() if bar else []


def _words(line: str) -> list[str]:
    return line.replace("|", " ").split()


def _cells(line: str) -> list[str]:
    """The cells of a line: between its tabs, semicolons or commas, else the words of it."""
    between = next((separator for separator in "\t;," if separator in line.strip()), None)
    if between is None:
        return _words(line)
    cells = [cell.strip(" #\"'") for cell in line.strip().split(between)]
    launched = LAUNCHED.match(line)
    return [line[launched.end() :].partition(between)[0].strip(" #\"'"), *cells[1:]] if launched else cells
