"""The GPUs of a job as a piece of evidence: the power that each draws while it shows life, and what they do in its
silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dogwatch.estimate.stall import Gpu as StallEvidence
from dogwatch.model import Gpu
from dogwatch.watcher.job.memory import Memory

NEWEST = 3  # readings of one silence; a single one may fall into a lull
LEARNING = 0.2  # of each reading of a moving job
FRESH = 180.0  # seconds after which a reading says nothing of now


def hear_gpus(memory: Memory, gpus: Sequence[Gpu], mono: float) -> StallEvidence | None:
    """Learn the usual power from a reading of a job that moves; of one that is silent, the newest readings together.
    None where there was none since it fell silent. Whole cards count: a slice tells no power of its own."""
    state, silent = memory.gpu, memory.silence.clock("signs").seconds
    at = state.mono
    own = [gpu for gpu in gpus if not gpu.parent and not gpu.others]
    if at is None or not own:
        return None
    if silent <= 0:
        state.silence = []
        if at == mono:
            _learn(state.power, own)
        return None
    if not mono - silent < at <= mono or mono - at > FRESH:
        return None
    readings = state.silence
    if not readings or readings[-1][0] != at:
        readings.append([at, *_reading(own, state.power)])
        del readings[:-NEWEST]
    return _together(readings)


def _learn(power: dict[str, float], gpus: Sequence[Gpu]) -> None:
    for gpu in gpus:
        if gpu.watts is not None:
            usual = power.get(gpu.key, gpu.watts)
            power[gpu.key] = round(usual + LEARNING * (gpu.watts - usual), 1)


def _reading(gpus: Sequence[Gpu], power: dict[str, float]) -> tuple[float | None, float | None, float | None, Any, Any]:
    """(mean and lowest utilisation in per cent, the largest share of its usual power that one draws, watts, usual)."""
    used = [100 * gpu.used for gpu in gpus if gpu.used is not None]
    known = [(gpu.watts, power[gpu.key]) for gpu in gpus if gpu.watts is not None and power.get(gpu.key)]
    whole = len(known) == len(gpus)
    share = max(watts / usual for watts, usual in known) if whole else None
    watts, usual = (sum(each) for each in zip(*known, strict=True)) if whole else (None, None)
    return sum(used) / len(used) if used else None, min(used, default=None), share, watts, usual


def _together(readings: Sequence[Sequence[Any]]) -> StallEvidence:
    """What the newest readings have in common: the most work that any of them showed."""
    _, percent, _, _, watts, usual = readings[-1]
    lows, shares = [row[2] for row in readings], [row[3] for row in readings]
    enough = len(readings) == NEWEST and None not in lows
    return StallEvidence(
        percent=max((row[1] for row in readings if row[1] is not None), default=percent),
        watts=watts,
        usual_watts=usual,
        share=None if None in shares else max(shares),
        lowest=min(lows) if enough else None,
    )
