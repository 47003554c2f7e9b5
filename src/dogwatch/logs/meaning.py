"""What the newest lines of a log mean together: its progress, metrics, phase and format."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypedDict

from dogwatch.logs.choose_counter import Known, Slot, choose_counter
from dogwatch.logs.formats import named
from dogwatch.logs.interface import BEGUN, COARSE, INNER, OWNER, PLAIN, RUN, STEPS, SUITE
from dogwatch.logs.structure import Structure, StructureState
from dogwatch.model import Finished, Interval, LogEvent, Metric, Origin, Phase, Resumed, Step, Total, Trouble

MOST_COUNTERS = 12  # of one format; the newest are kept
MOST_METRICS = 64
RECORD = 4096  # bytes within which a program says all that it says of one step
_KEPT: dict[str, type[LogEvent]] = {
    "s": Step,
    "t": Total,
    "i": Interval,
    "r": Resumed,
    "p": Phase,
    "f": Finished,
    "o": Origin,
}
_NO_COUNTER = (Metric, Trouble)  # what belongs to no counter
_CODE = {kept: code for code, kept in _KEPT.items()}


class Reading(NamedTuple):
    """What the log says now. `troubles` are of the last piece alone; the rest is the newest
    word so far, whichever piece it came in. `format` names what seems to have written the log, `at` is the
    place of the line that `step` came from. `broken` are metrics whose newest value is no finite number, `intervals`
    what a configuration says of how often it saves, evaluates and logs; `items` a counter of items beside `step`."""

    step: Step | None
    metrics: Mapping[str, float]
    phase: str | None
    finished: Finished | None
    troubles: list[Trouble]
    format: str | None = None
    at: int | None = None
    broken: tuple[str, ...] = ()
    intervals: tuple[Interval, ...] = ()
    items: Step | None = None


class Record(NamedTuple):
    """The newest line of one counter: where it stood, where the counter's first did, and what it meant."""

    at: int
    first: int
    marks: tuple[LogEvent, ...]


class MeaningState(TypedDict, total=False):
    """A meaning as JSON can carry it."""

    records: list[Any]
    metrics: list[Any]
    structure: StructureState | None


class Meaning:
    """Keeps the newest line of every counter, and says what they mean; bounded whatever the log says."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, Record]] = {}
        self._metrics: dict[str, tuple[int, float]] = {}
        self._structure: Structure | None = Structure()
        self._said: Reading | None = None
        self._heard: tuple[_Heard, Slot | None] | None = None  # as long as no record changes

    def wants_all(self) -> bool:
        """Whether every line matters: no format has told a step (but in passing) or that the job serves."""
        if self._structure is not None:
            heard, slot = self._weigh()
            told = slot is not None and not _in_passing(slot)
            self._structure = None if told or heard.serving >= 0 else self._structure
        return self._structure is not None

    def read(self, text: bytes, offset: int) -> None:
        """Take the lines of a piece by their structure, as long as every line matters."""
        if self.wants_all() and self._structure is not None:
            self._structure.read(text, offset)
            self._said = None

    def note(self, kind: str, counter: str, at: int, first: int, marks: Sequence[LogEvent]) -> None:
        """Keep what a line meant as the newest word of its counter, unless a newer line was read. What an
        older line said besides is forgotten, so that the pieces in which the log came do not matter."""
        self.note_metrics(at, marks)
        kept = tuple(mark for mark in marks if not isinstance(mark, _NO_COUNTER))
        counters = self._records.setdefault(kind, {})
        old = counters.get(counter)
        if old is None or old.at <= at:
            counters[counter] = Record(at, old.first if old else first, kept)
            self._heard = None

    def note_metrics(self, at: int, marks: Sequence[LogEvent]) -> None:
        """Keep the newest value of every metric."""
        self._said = None
        for mark in marks:
            if isinstance(mark, Metric) and (mark.name not in self._metrics or self._metrics[mark.name][0] <= at):
                self._metrics[mark.name] = (at, mark.value)

    def knows(self, kind: str, counter: str) -> bool:
        """Whether the counter has been heard of."""
        return counter in self._records.get(kind, ())

    def bound(self) -> None:
        """Forget the oldest of too many counters and metrics."""
        for kind, counters in self._records.items():
            if len(counters) > MOST_COUNTERS:
                newest = sorted(counters.items(), key=lambda item: (item[1].at, item[0]))[-MOST_COUNTERS:]
                self._records[kind] = dict(newest)
                self._heard = self._said = None
        if len(self._metrics) > MOST_METRICS:
            self._metrics = dict(sorted(self._metrics.items(), key=lambda item: item[1][0])[-MOST_METRICS:])

    def reading(self) -> Reading:
        """All of it, worked out once after each change."""
        if self._said is None:
            self._said = self._say()
        return self._said

    def _weigh(self) -> tuple[_Heard, Slot | None]:
        """The records taken together, and the one that tells the run's progress; worked out once after each change."""
        if self._heard is not None:
            return self._heard
        heard = _Heard()
        for kind, counters in self._records.items():
            name, weight = named().get(kind, ("", SUITE))
            for counter, record in counters.items():
                heard.take(record, name, weight, counter)
        self._heard = (heard, choose_counter(heard.slots, heard.known()))
        return self._heard

    def _say(self) -> Reading:
        metrics = {name: value for name, (_, value) in self._metrics.items() if math.isfinite(value)}
        heard, slot = self._weigh()
        family = heard.family[2]
        if (slot is None or _in_passing(slot)) and self._structure is not None and heard.serving < 0:
            found = choose_counter(self._structure.slots(), heard.known())
            family = self._structure.family(found) if found and (slot or not family) else family
            slot = found or slot
        step = slot.step if slot else None
        if step is not None and "owner throughput" in self._records and metrics.get("throughput", -1.0) >= 0:
            step = replace(step, rate=metrics["throughput"])
        claim = Finished(heard.finished[1]) if heard.finished[0] >= 0 else None
        learns = any("loss" in name or "reward" in name for name in metrics)
        return Reading(
            step,
            metrics,
            heard.doing(slot, learns),
            claim,
            [],
            family or None,
            slot.at if slot else None,
            tuple(name for name in self._metrics if name not in metrics),
            heard.often(),
            None if step is None or step.rank >= OWNER or step.unit not in COARSE else heard.items(),
        )

    def state(self) -> MeaningState:
        """As JSON can carry it."""
        return {
            "records": [
                [kind, name, record.at, record.first, [_packed(mark) for mark in record.marks]]
                for kind, counters in self._records.items()
                for name, record in counters.items()
            ],
            "metrics": [
                [name, at, value if math.isfinite(value) else None] for name, (at, value) in self._metrics.items()
            ],
            "structure": self._structure.state() if self._structure else None,
        }

    @classmethod
    def restore(cls, state: MeaningState) -> Meaning:
        """The meaning that gave `state`."""
        meaning = cls()
        for kind, name, at, first, marks in state["records"]:
            kept = tuple(_KEPT[code](*values) for code, *values in marks)
            meaning._records.setdefault(kind, {})[name] = Record(at, first, kept)
        for name, at, value in state["metrics"]:
            meaning._metrics[name] = (at, math.nan if value is None else value)
        structure = state["structure"]
        meaning._structure = Structure.restore(structure) if structure else None
        return meaning


@dataclass(slots=True)
class _Heard:
    """The records taken together: (place, what) of the newest of each thing; a place of -1 is nothing."""

    slots: list[Slot] = field(default_factory=list)
    totals: dict[str, tuple[int, float]] = field(default_factory=dict)
    resumed: tuple[int, float, str] = (-1, 0.0, "")
    phase: tuple[int, str] = (-1, "")
    finished: tuple[int, str] = (-1, "")
    intervals: list[tuple[int, Interval]] = field(default_factory=list)
    serving: int = -1
    family: tuple[int, int, str] = (-1, -1, "")

    def take(self, record: Record, name: str, weight: int, counter: str) -> None:
        at = record.at
        if name:
            self.family = max(self.family, (weight, at, name))
        for mark in record.marks:
            match mark:
                case Step():
                    self.slots.append(Slot(at, mark, weight, counter, record.first))
                case Total():
                    unit = "steps" if mark.unit in STEPS else mark.unit
                    self.totals[unit] = max(self.totals.get(unit, (-1, 0.0)), (at, mark.count))
                case Interval():
                    self.intervals.append((at, mark))
                case Resumed():
                    self.resumed = max(self.resumed, (at, mark.done, mark.unit))
                case Phase():
                    self.phase = max(self.phase, (at, mark.name))
                    self.serving = max(self.serving, at) if mark.name == "serving" else self.serving
                case Finished():
                    self.finished = max(self.finished, (at, mark.text))
                case _:
                    pass

    def known(self) -> Known:
        """What else was said; a total that was stated after a resume is of a start that resumed nothing."""
        at, done, unit = self.resumed
        stated, _ = self.totals.get("steps" if unit in STEPS else unit, (-1, 0.0))
        resumed = (at, Resumed(done, unit)) if at > stated else None
        totals = {unit: said[1] for unit, said in self.totals.items() if not self._counts(unit, *said)}
        return Known(totals, resumed, self.finished[0] if self.finished[0] >= 0 else None, self.serving)

    def _counts(self, unit: str, at: int, count: float) -> bool:
        """Whether what looks like a total of episodes is the count of them, said anew beside it."""
        beside = (slot for slot in self.slots if slot.step.unit == unit and slot.at - at < RECORD)
        return unit not in ("steps", "epochs") and any(count <= slot.step.done + 1 for slot in beside)

    def items(self) -> Step | None:
        """The counter of items among all that the log has; tokens and their like only where nothing else is counted."""
        found = [slot for slot in self.slots if slot.step.unit not in COARSE]
        found = [slot for slot in found if INNER <= slot.step.rank < OWNER and not slot.name.startswith(BEGUN)]
        named = max(found, key=lambda slot: (slot.step.unit == "items", _worth(slot)), default=None)
        return named.step if named is not None else None

    def often(self) -> tuple[Interval, ...]:
        """What was said of intervals, the newest last; an epoch is its part of all steps where nobody says it."""
        if not self.intervals and not self.totals:
            return ()
        told = [interval for _, interval in sorted(self.intervals, key=lambda said: said[0])]
        (_, steps), (_, epochs) = (self.totals.get(unit, (-1, 0.0)) for unit in ("steps", "epochs"))
        if epochs > 1 and steps > epochs and steps % epochs == 0:
            told.insert(0, Interval("epoch", steps / epochs, "steps"))
        return tuple(dict.fromkeys(told))

    def doing(self, slot: Slot | None, learns: bool) -> str | None:
        """The newest word on what the job does; a counter that moved since then says that it trains or runs."""
        at, says = self.phase
        if self.finished[0] >= max(at, slot.at if slot else -1, 0):
            return "finished"
        if slot is None or at >= slot.at:
            return says or None
        return "training" if learns or slot.step.unit in STEPS - {"it"} or slot.step.unit == "epochs" else "running"


def _worth(slot: Slot) -> tuple[bool, bool, int, int, float]:
    step = slot.step
    return step.unit not in ("tokens", "episodes"), bool(step.total), slot.at, step.rank, step.done


def _in_passing(slot: Slot) -> bool:
    """Whether the counter is a word that anyone prints, and was said once, inside something or of nought."""
    inside = slot.step.rank == INNER or (slot.step.rank == RUN and not slot.step.done)
    return slot.weight == PLAIN and inside and slot.first == slot.at


def _packed(mark: LogEvent) -> list[Any]:
    return [_CODE[type(mark)], *(getattr(mark, name) for name in mark.__slots__)]
