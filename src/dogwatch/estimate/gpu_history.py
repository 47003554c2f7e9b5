"""What one poll after another shows of the GPUs of a job: for how long something has been so; pure.

The state is a JSON object that the job's memory keeps; its clocks run only while somebody looks.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from dogwatch.estimate import depletion
from dogwatch.model import Gpu, GpuHistory, GpuPast, Stray

IDLE = 0.05  # of its time: a GPU that does so little waits for somebody
LOW = 0.20  # of its time, on average over so many seconds: it waits more than it computes
AVERAGED = 300.0
USUAL_LEAST = 6  # samples, minutes apart, before memory has a usual size


def advance(
    state: dict[str, Any],
    gpus: Sequence[Gpu],
    passed: float,
    mono: float,
    *,
    away: bool | None,
    strays: Iterable[tuple[int, str, int | None]],
) -> GpuPast:
    """Take one more reading into the state, `passed` seconds after the one before; what it all shows now."""
    before = state.get("cards") or {}
    state["cards"] = {gpu.key: _card(dict(before.get(gpu.key) or {}), gpu, passed, mono) for gpu in gpus}
    # Not being able to tell lets the clock stand: that is no evidence that it came back.
    state["away"] = 0.0 if away is False else state.get("away", 0.0) + (passed if away else 0.0)
    clocks = state.get("strays") or {}
    found = {f"{worker} {given} {gpu}": (worker, given, gpu) for worker, given, gpu in strays}
    state["strays"] = {key: clocks[key] + passed if key in clocks else 0.0 for key in found}
    return past(state, gpus, found)


def past(state: dict[str, Any], gpus: Sequence[Gpu], found: dict[str, tuple[int, str, int | None]]) -> GpuPast:
    cards = state["cards"]
    strays = tuple(Stray(*found[key], seconds) for key, seconds in state["strays"].items())
    return GpuPast({gpu.key: _course(cards[gpu.key], gpu) for gpu in gpus}, state["away"], strays)


def _card(card: dict[str, Any], gpu: Gpu, passed: float, mono: float) -> dict[str, Any]:
    if gpu.used is not None:
        if gpu.used <= IDLE:
            card["idle"] = card["idle"] + passed if "idle" in card else 0.0
        else:
            card["longest"] = max(card.get("longest", 0.0), card.get("idle", 0.0)) if card.get("worked") else 0.0
            card["worked"], card["idle"] = True, 0.0
        _average(card, gpu.used, passed)
    for clock, runs in (("throttled", gpu.slowed), ("shared", gpu.others)):
        card[clock] = card[clock] + passed if runs and clock in card else 0.0 if runs else None
    if gpu.ecc is not None:
        card.setdefault("ecc", gpu.ecc)
        card["ecc"] = min(card["ecc"], gpu.ecc)  # a driver that was loaded anew counts from nothing
    if gpu.memory_used is not None and gpu.memory_total:
        depletion.sample(card.setdefault("left", []), mono, gpu.memory_total - gpu.memory_used)
    return {key: value for key, value in card.items() if value is not None}


def _average(card: dict[str, Any], used: float, passed: float) -> None:
    """How much it is used, on average over the last while, and for how long that has been little. A GPU that waits for
    its data computes at full speed in between, so that single readings tell nothing."""
    known = card.get("mean", used)
    card["mean"] = used + (known - used) * math.exp(-max(0.0, passed) / AVERAGED)
    if card["mean"] > LOW:
        card["rose"], card["low"] = True, 0.0
    else:
        card["low"] = card["low"] + passed if "low" in card else 0.0


def _course(card: dict[str, Any], gpu: Gpu) -> GpuHistory:
    left: list[list[float]] = card.get("left") or []
    usual = None
    if gpu.memory_total and len(left) >= USUAL_LEAST:
        usual = int(gpu.memory_total - statistics.median(size for _, size in left[:-1]))
    return GpuHistory(
        idle=card.get("idle", 0.0),
        worked=card.get("worked", False),
        longest=card.get("longest", 0.0),
        throttled=card.get("throttled", 0.0),
        shared=card.get("shared", 0.0),
        usual=usual,
        full_in=depletion.gone_in(left),
        low=card.get("low", 0.0),
        rose=card.get("rose", False),
        ecc=(gpu.ecc - card["ecc"]) if gpu.ecc is not None and "ecc" in card else 0,
    )
