"""Progress of logs in which no known format speaks, by structure: lines of one shape in which a number counts.

A counter is a whole number that rises from line to line of its shape: by any steps where a word says that it counts a
loop, by equal steps from the beginning on where none does and figures stand behind it; or a column of a table under a
header that names one. Clocks, sizes and ids rise too, but not so. All lines of a log's beginning are looked at, and
some in every stretch behind it, chosen by their place alone; in between only the counters that were found are looked
for. So what is known does not depend on how the log was cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypedDict

from dogwatch.logs import shape
from dogwatch.logs.choose_counter import Slot
from dogwatch.logs.interface import BAR, EPOCH, EPOCH_DONE, INNER, PLAIN, RUN, SECONDARY
from dogwatch.logs.table import Header, header
from dogwatch.model import Step

HEAD, HEAD_LINES = 1 << 16, 2048  # bytes of a log of which every line is looked at, up to so many
PERIOD, SAMPLE, SAMPLE_LINES = 1 << 17, 1 << 12, 64  # and bytes of every so many behind them,
OCTAVE = 3  # or, far behind them, of every eighth part of what was read before
MOST_SHAPES = 32
MOST_COUNTERS = 4  # shapes that are looked for everywhere
FEWEST, FEW, MANY = 3, 6, 20  # lines: with a word and figures beside, with a word alone, with neither
SPAN = 0.25  # of the log that a counter without a word takes part in
EQUAL = 0.75  # of its steps that are equal
LAP = 2  # steps that a counter goes at least before it begins again
FAR = 50  # steps at which two counters stand by no chance
CLOCK = 1e9  # from here on it may be seconds since 1970

Values: TypeAlias = tuple[float | None, ...]
Numbers: TypeAlias = tuple[shape.Number, ...]


class Field:
    """One number of a shape over its lines: where it began and is, how it moved."""

    __slots__ = ("back", "fell", "first", "last", "rose", "same", "stayed", "stride", "top")

    def __init__(self, value: float) -> None:
        self.first = self.last = self.top = value
        self.stride = 0.0  # the usual step, and how often it was seen
        self.same = self.rose = self.stayed = 0
        self.fell = self.back = 0  # times it began again; times it went back otherwise

    def take(self, value: float) -> None:
        move = value - self.last
        if move > 0:
            self.rose += 1
            if move == self.stride:
                self.same += 1
            elif self.rose > 2 * self.same:
                self.stride, self.same = move, 1
        elif move == 0:
            self.stayed += 1
        elif value <= self.first + max(self.stride, 1):
            self.fell += 1
        else:
            self.back += 1
        self.go_on(value)

    def go_on(self, value: float) -> None:
        """Go on with a value behind others that were not seen."""
        self.last = value
        self.top = max(self.top, value)

    @property
    def rises(self) -> bool:
        """Whether it goes up all the time; what begins again and again has to climb evenly in between."""
        if self.rose < 2 or self.back * 10 > self.rose:
            return False
        return not self.fell or (self.rose >= LAP * (self.fell + 1) and self.same >= EQUAL * self.rose)

    @property
    def is_even(self) -> bool:
        """Whether it counts by equal steps."""
        return self.same >= EQUAL * self.rose and self.back * 20 <= self.rose

    @property
    def from_start(self) -> bool:
        return self.first in (0.0, 1.0, self.stride)

    @property
    def moved(self) -> int:
        return self.rose + self.fell + self.back

    @property
    def is_constant(self) -> bool:
        return not self.moved


class Shape:
    """The lines of one shape: how many, where the first and the newest stood, how many had figures, their numbers."""

    __slots__ = ("at", "fields", "figures", "first", "needle", "numbers", "seen", "stretch")

    def __init__(self, at: int) -> None:
        self.numbers: tuple[shape.Number, ...] = ()  # what they may be, when it was seen so often that it matters
        self.needle = ""
        self.first = self.at = at
        self.seen = self.figures = self.stretch = 0
        self.fields: list[Field | None] = []

    def take(self, at: int, values: Values, stretch: int) -> None:
        """Take the next line, of this stretch of the log: only within one is known how a number moved, and that what is
        smaller in a later one began again."""
        apart, self.stretch = self.stretch != stretch, stretch
        self.at = at
        self.seen += 1
        if None in values:
            self.figures += 1
        if not self.fields:
            self.fields = [None if value is None else Field(value) for value in values]
            return
        for place, value in enumerate(values[: len(self.fields)]):
            field = self.fields[place]
            if field is None:
                continue
            if value is None:
                self.fields[place] = None  # a fraction: it counts nothing
            elif not apart:
                field.take(value)
            else:
                field.fell += value < field.last
                field.go_on(value)

    def pass_on(self, at: int, values: Values) -> None:
        """Go on at a line that is not the next one: how the numbers moved meanwhile is not known."""
        self.at = at
        for field, value in zip(self.fields, values, strict=False):
            if field is not None and value is not None:
                field.last = value

    def counters(self, read: int) -> dict[int, int]:
        """The numbers that count, each with how sure that is, in a log of which so many bytes were read."""
        places = range(min(len(self.fields), len(self.numbers)))
        return {place: sure for place in places if (sure := self._counts(place, read))}

    def _counts(self, place: int, read: int) -> int:
        field, number = self.fields[place], self.numbers[place]
        if field is None or number.sure == shape.NEVER or not field.rises:
            return shape.NEVER
        total = self.total(place)
        shown = total is not None or self.figures * 2 >= self.seen
        if number.sure == shape.LOOP:
            return shape.LOOP if self.seen >= (FEWEST if shown else FEW) else shape.NEVER
        nested = self._around(place) is not None
        if not field.is_even or field.top >= CLOCK:
            return shape.NEVER
        if total is None:
            short = self.at - self.first < SPAN * read
            often = field.fell * MANY > field.rose and not nested
            if short or field.stayed or not field.from_start or often:
                return shape.NEVER
        if number.sure == shape.THINGS or total is not None:
            return shape.THINGS if self.seen >= (FEW if total is not None else MANY) else shape.NEVER
        leads = all(before is None or before.is_constant for before in self.fields[:place])
        return shape.PERHAPS if shown and (nested or leads) and self.seen >= FEW + FEWEST else shape.NEVER

    def total(self, place: int) -> float | None:
        """What the number is one of, where the next number says so on every line: it may become another one only where
        the count begins again."""
        if place + 1 >= min(len(self.fields), len(self.numbers)) or not self.numbers[place + 1].of:
            return None
        field, of = self.fields[place], self.fields[place + 1]
        if field is None or of is None or of.moved > field.fell or of.last < field.last or of.top < field.top:
            return None
        return of.last

    def outer(self, counting: Collection[int]) -> int | None:
        """The number that counts epochs: by its word, or because it rises whenever a counter begins again."""
        for place, number in enumerate(self.numbers[: len(self.fields)]):
            field = self.fields[place]
            if number.unit == "epochs" and number.sure == shape.LOOP and field is not None and not field.back:
                return place
        return next((around for place in counting if (around := self._around(place)) is not None), None)

    def _around(self, place: int) -> int | None:
        """The number before another that stays while that rises, and rises when that begins again."""
        inner = self.fields[place]
        for before in range(place if inner is not None and inner.fell else 0):
            field = self.fields[before]
            if field is None or inner is None or field.fell or field.back or self.numbers[before].sure == shape.NEVER:
                continue
            if field.top > field.first and field.rose <= min(inner.fell + 1, field.stayed):
                return before
        return None

    def is_constant(self, place: int) -> bool:
        """Whether a number has not moved yet."""
        field = self.fields[place]
        return field is None or field.is_constant


class StructureState(TypedDict):
    """A structure as JSON can carry it."""

    read: list[int]
    header: str
    wanted: list[str]
    shapes: list[Any]


class Structure:
    """Reads whole lines, piece by piece, in bounded memory; says which numbers count."""

    def __init__(self) -> None:
        self._shapes: dict[str, Shape] = {}
        self._header = Header("", {})
        self._read = self._border = self._looked = 0
        self._wanted: list[str] = []  # shapes that counted at some time
        self._slots: list[Slot] | None = None

    def read(self, text: bytes, offset: int) -> None:
        """Take the next lines of the log, of which the first stands at `offset`."""
        self._slots = None
        for start, end, border, lines in _stretches(text, offset):
            if border != self._border:
                self._border, self._looked = border, 0
            rest = start
            for at, line in _lines(text, start, end) if self._looked < lines else ():
                self._take(offset + at, line)
                self._looked += 1
                rest = at + len(line) + 1
                if self._looked == lines:
                    break
            for name in self._wanted if rest < end else ():
                self._newest(name, text, rest, end, offset)
            self._read = offset + end

    def slots(self) -> list[Slot]:
        """The newest word of every counter, of the surest kind that there is; one that stands at the very number of
        another has the total of that."""
        if self._slots is None:
            found = [(sure, slot) for name, each in self._shapes.items() for sure, slot in self._counters(name, each)]
            most = max((sure for sure, _ in found), default=shape.NEVER)
            totals = {slot.step.done: slot.step.total for _, slot in found if slot.step.total and slot.step.done > FAR}
            self._slots = [_lent(slot, totals) for sure, slot in found if sure == most]
        return self._slots

    @staticmethod
    def family(slot: Slot) -> str:
        """What a log is called whose progress is this."""
        return "table" if slot.name.startswith("table ") else "print"

    def _take(self, at: int, raw: bytes) -> None:
        line = raw[: 4 * shape.LONGEST].decode("utf-8", "replace")
        seen = shape.parse_line(line)
        in_names = seen is not None and line.count("[") >= len(seen.values)  # c_pressure[1]
        if seen is None or in_names or (len(seen.values) == 1 and shape.LAUNCHED.match(line)):
            self._header = header(line) or self._header
        if seen is None:
            return
        row = self._header.row(line) if self._header else None
        if row is not None:
            self._note(f"table {self._header.text}", line, row[1], at, row[0])
        elif any(value is not None for value in seen.values):
            self._note(seen.shape, line, seen.values, at)

    def _note(self, name: str, line: str, values: Values, at: int, numbers: Numbers | None = None) -> None:
        each = self._shapes.get(name)
        if each is None:
            if len(self._shapes) >= MOST_SHAPES:
                self._forget()
            each = self._shapes[name] = Shape(at)
        each.take(at, values, self._border)
        if each.seen == FEWEST and not shape.NOT_PROGRESS.search(line.lower()):
            each.numbers = numbers or shape.numbers(name, re.split(r"\d", line.lower())[-1])
        if each.numbers and name not in self._wanted and len(self._wanted) < MOST_COUNTERS and each.counters(0):
            each.needle = _needle(name, line)
            self._wanted.append(name)

    def _forget(self) -> None:
        """Make room: the oldest shape that was seen once goes, else the one that was seen least."""
        once = next((name for name, each in self._shapes.items() if each.seen == 1), None)
        least = once or min(self._shapes, key=lambda name: (self._shapes[name].seen, self._shapes[name].at))
        del self._shapes[least]

    def _newest(self, name: str, text: bytes, start: int, end: int, offset: int) -> None:
        """Take the newest line of a shape between two places of a text."""
        each = self._shapes.get(name)
        if each is None:
            return
        needle = each.needle.encode("utf-8")
        while end > start:
            found = text.rfind(needle, start, end) if needle else end - 2
            if found < start:
                return
            begin = max(start, text.rfind(b"\n", start, found) + 1)
            line = text[begin : text.find(b"\n", begin)][: 4 * shape.LONGEST].decode("utf-8", "replace")
            values = self._values(name, line)
            if values is not None:
                each.pass_on(offset + begin, values)
                return
            end = begin - 1

    def _values(self, name: str, line: str) -> Values | None:
        row = self._header.row(line) if self._header else None
        if row is not None:
            return row[1] if name == f"table {self._header.text}" else None
        seen = shape.parse_line(line)
        return seen.values if seen is not None and seen.shape == name else None

    def _counters(self, name: str, each: Shape) -> Iterator[tuple[int, Slot]]:
        """(how sure, slot) of every counter of a shape; what begins again counts inside what goes on."""
        counting = each.counters(self._read)
        if not counting:
            return
        outer = each.outer(counting)
        shows, secondary = each.figures * 2 >= each.seen, bool(shape.TESTS.search(name))
        for place, field in enumerate(each.fields):
            sure = counting.get(place, shape.NEVER)
            if field is None or (place != outer and not sure):
                continue
            if place == outer:
                unit, rank = "epochs", EPOCH_DONE if shows else EPOCH
            else:
                unit = each.numbers[place].unit
                rank = INNER if field.fell or (outer is not None and each.is_constant(outer)) else RUN
            step = Step(field.last, each.total(place), unit, None, SECONDARY if secondary else rank)
            weight = BAR if sure == shape.LOOP else PLAIN
            yield max(counting.values()), Slot(each.at, step, weight, f"{name} {place}", each.first)

    def state(self) -> StructureState:
        """As JSON can carry it."""
        return {
            "read": [self._read, self._border, self._looked],
            "header": self._header.text,
            "wanted": self._wanted,
            "shapes": [
                [
                    name,
                    each.needle,
                    [list(number) for number in each.numbers],
                    [each.first, each.at, each.seen, each.figures, each.stretch],
                    [field and [getattr(field, slot) for slot in Field.__slots__] for field in each.fields],
                ]
                for name, each in self._shapes.items()
            ],
        }

    @classmethod
    def restore(cls, state: StructureState) -> Structure:
        """The structure that gave `state`."""
        found = cls()
        found._read, found._border, found._looked = state["read"]
        found._wanted = list(state["wanted"])
        found._header = header(state["header"]) or found._header
        for name, needle, numbers, (first, at, seen, figures, stretch), fields in state["shapes"]:
            each = found._shapes[name] = Shape(first)
            each.numbers, each.needle = tuple(shape.Number(*number) for number in numbers), needle
            each.at, each.seen, each.figures, each.stretch = at, seen, figures, stretch
            for values in fields:
                field = Field(0.0) if values else None
                for slot, value in zip(Field.__slots__, values or (), strict=False):
                    setattr(field, slot, value)
                each.fields.append(field)
        return found


def _stretches(text: bytes, offset: int) -> Iterator[tuple[int, int, int, int]]:
    """(start, end, where in the log it ends at the earliest, how many lines of it are looked at) of the stretches of
    some whole lines, by the places of the lines' beginnings in the log."""
    start = 0
    while start < len(text):
        at = offset + start
        period = max(PERIOD, 1 << max(0, at.bit_length() - 1 - OCTAVE))
        if at < HEAD:
            border, lines = HEAD, HEAD_LINES
        elif at % period < SAMPLE:
            border, lines = at - at % period + SAMPLE, SAMPLE_LINES
        else:
            border, lines = at - at % period + period, 0
        end = text.find(b"\n", border - offset - 1) + 1 if border - offset < len(text) else 0
        yield start, end or len(text), border, lines
        start = end or len(text)


def _lines(text: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """(where it begins, the line) of every line that is not blank."""
    for line in text[start:end].split(b"\n", HEAD_LINES):
        if line:
            yield start, line
        start += len(line) + 1


def _lent(slot: Slot, totals: Mapping[float, float | None]) -> Slot:
    total = slot.step.total or totals.get(slot.step.done)
    return replace(slot, step=replace(slot.step, total=total))


def _needle(name: str, line: str) -> str:
    """The longest word that is in every line of a shape, as this one writes it; empty where none is sure to be."""
    words = [] if name.startswith("table ") else re.findall(r"[A-Za-z]{2,40}", line)
    return max((word for word in words if word.lower() in name), key=len, default="")
