"""What one poll after another shows of the GPUs of a job: for how long something has been so; pure.

The job's memory keeps the state; its clocks run only while somebody looks.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dogwatch.estimate import depletion
from dogwatch.model import Gpu, GpuHistory, GpuPast, Stray

IDLE = 0.05  # of its time: a GPU that does so little waits for somebody
LOW = 0.20  # of its time, on average over so many seconds: it waits more than it computes
AVERAGED = 300.0
USUAL_LEAST = 6  # samples, minutes apart, before memory has a usual size


@dataclass(slots=True)
class CardState:
    """One GPU: for how long it is idle, throttled, shared and little used, None where it is not so; its longest idle
    time after it `worked`, its `mean` use and whether that `rose`, its fewest memory errors, and samples of free
    memory."""

    idle: float | None = None
    longest: float = 0.0
    worked: bool = False
    mean: float | None = None
    low: float | None = None
    rose: bool = False
    throttled: float | None = None
    shared: float | None = None
    ecc: int | None = None
    left: list[list[float]] = field(default_factory=list)


@dataclass(slots=True)
class GpuCourse:
    """All GPUs of a job: each card by its key, for how long the job is on none of them, and for how long each stray."""

    cards: dict[str, CardState] = field(default_factory=dict)
    away: float = 0.0
    strays: dict[str, float] = field(default_factory=dict)


def advance(
    course: GpuCourse,
    gpus: Sequence[Gpu],
    passed: float,
    mono: float,
    *,
    away: bool | None,
    strays: Iterable[tuple[int, str, int | None]],
) -> GpuPast:
    """Take one more reading into the course, `passed` seconds after the one before; what it all shows now."""
    before, clocks = course.cards, course.strays
    course.cards = {gpu.key: _card(replace(before.get(gpu.key, NEW)), gpu, passed, mono) for gpu in gpus}
    # Not being able to tell lets the clock stand: that is no evidence that it came back.
    course.away = 0.0 if away is False else course.away + (passed if away else 0.0)
    by_key = {f"{worker} {given} {gpu}": (worker, given, gpu) for worker, given, gpu in strays}
    course.strays = {key: clocks[key] + passed if key in clocks else 0.0 for key in by_key}
    seconds = tuple(Stray(*by_key[key], seconds) for key, seconds in course.strays.items())
    return GpuPast({gpu.key: _history(course.cards[gpu.key], gpu) for gpu in gpus}, course.away, seconds)


def _card(card: CardState, gpu: Gpu, passed: float, mono: float) -> CardState:
    if gpu.used is not None:
        if gpu.used <= IDLE:
            card.idle = _running(card.idle, passed)
        else:
            card.longest = max(card.longest, card.idle or 0.0) if card.worked else 0.0
            card.worked, card.idle = True, 0.0
        _average(card, gpu.used, passed)
    card.throttled = _running(card.throttled, passed) if gpu.slowed else None
    card.shared = _running(card.shared, passed) if gpu.others else None
    if gpu.ecc is not None:  # a driver that was loaded anew counts from nothing
        card.ecc = gpu.ecc if card.ecc is None else min(card.ecc, gpu.ecc)
    if gpu.memory_used is not None and gpu.memory_total:
        card.left = list(card.left)
        depletion.sample(card.left, mono, gpu.memory_total - gpu.memory_used)
    return card


def _running(clock: float | None, passed: float) -> float:
    return 0.0 if clock is None else clock + passed


def _average(card: CardState, used: float, passed: float) -> None:
    """How much it is used, on average over the last while, and for how long that has been little. A GPU that waits for
    its data computes at full speed in between, so that single readings tell nothing."""
    known = used if card.mean is None else card.mean
    card.mean = used + (known - used) * math.exp(-max(0.0, passed) / AVERAGED)
    if card.mean > LOW:
        card.rose, card.low = True, 0.0
    else:
        card.low = _running(card.low, passed)


def _history(card: CardState, gpu: Gpu) -> GpuHistory:
    usual = None
    if gpu.memory_total and len(card.left) >= USUAL_LEAST:
        usual = int(gpu.memory_total - statistics.median(size for _, size in card.left[:-1]))
    return GpuHistory(
        idle=card.idle or 0.0,
        worked=card.worked,
        longest=card.longest,
        throttled=card.throttled or 0.0,
        shared=card.shared or 0.0,
        usual=usual,
        full_in=depletion.gone_in(card.left),
        low=card.low or 0.0,
        rose=card.rose,
        ecc=gpu.ecc - card.ecc if gpu.ecc is not None and card.ecc is not None else 0,
    )


NEW = CardState()
