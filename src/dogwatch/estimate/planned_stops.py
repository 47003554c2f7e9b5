"""Planned stops: counts at which a job says that it saves or evaluates, in the unit of its counter; pure.

A configuration names steps, epochs or neither. Without a unit, a number that the counter passes with every line means
epochs; where both units make sense, both are taken, because one stop too many only makes the silence limit longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dogwatch.model import Interval

EPOCHS, STEPS = "epochs", frozenset({"steps", "iterations", "updates", "it", "batches"})


@dataclass(frozen=True, slots=True)
class PlannedStops:
    """Something may begin at every multiple of these, and at the end of an `epoch`; what happens from line to line is
    part of every gap and no stop. They are `all` there are when it was said how often the job saves and evaluates, and
    not only "never": the ends of epochs whose length nobody told are then nothing but that."""

    every: tuple[float, ...] = ()
    epoch: float | None = None
    all: bool = False


NO_STOPS = PlannedStops()


def planned_stops(intervals: Iterable[Interval], unit: str, stride: float) -> PlannedStops:
    """What the intervals mean to a counter of this unit, which moves by `stride` from line to line."""
    told = list(intervals)
    if unit != EPOCHS and unit not in STEPS:
        return NO_STOPS
    steps = next((one.every for one in reversed(told) if one.what == "epoch" and one.every > 1), None)
    epoch = 1.0 if unit == EPOCHS else steps
    step = 1.0 if unit in STEPS else (1 / steps if steps else None)
    found: dict[float, None] = {}  # in order, each once
    settled: dict[str, bool] = {}
    for one in told:
        if one.what not in ("save", "evaluate"):
            continue
        counts = _counts(one, step, epoch, stride)
        found.update(dict.fromkeys(counts))
        settled[one.what] = settled.get(one.what, True) and (bool(counts) or not one.every)
    every = tuple(count for count in found if count > stride)
    return PlannedStops(every, epoch, bool(found) and len(settled) == 2 and all(settled.values()))


def _counts(one: Interval, step: float | None, epoch: float | None, stride: float) -> list[float]:
    """How often, in the counter's unit: one way or the other, or both."""
    if not one.every:
        return []
    of_steps = one.every * step if step and one.unit != EPOCHS else 0.0
    of_epochs = one.every * epoch if epoch and one.unit != "steps" else 0.0
    if not one.unit and of_steps <= stride:
        of_steps = 0.0
    return [count for count in (of_steps, of_epochs) if count > 0]
