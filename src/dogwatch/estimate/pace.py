"""The pace of a run without its pauses: which stretch of the past still holds, and where it drifts to.

The past is cut into blocks of equal steps. How long the present regime has lasted is weighed by how well each
length would have foretold every block (Bayesian change points, with room for odd blocks); a drift counts
only where it would have done clearly better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

BLOCKS = 36
CHANGES = 2.0  # regimes that end within a whole run, before anything is known
ODD = 0.05  # how often a block says nothing about its regime
NOISE = 0.03  # of log paces within a regime, before anything is known, at least; worth two blocks
SMOOTH = 0.954  # the middle distance of neighbours that differ by noise alone, by that noise
ANYWHERE = 0.3  # how far log paces of two regimes usually are apart; much further is not unheard of
NEGLIGIBLE = 1e-4
SQRT_2PI = math.sqrt(2 * math.pi)
DRIFT_BLOCKS = 12
DRIFT_CAUTION = 4.0  # how many times better than standing still a drift must have been
MOST_DRIFT = 0.5
MOST_UNEVEN = 1.5  # as a logarithm: a block that took no time is no further off
UNEVEN = 0.8  # of how uneven its pace was so far, that a run's average may be off over as long a way again
LASTS = 4.0  # blocks that a regime one block old may be expected to last; with age it grows by the square


class Block(NamedTuple):
    """Some steps and the seconds they took."""

    steps: float
    seconds: float


class Run(NamedTuple):
    """The hypothesis that the present regime began with block `start`."""

    weight: float
    start: int
    blocks: float
    size: float
    mean: float
    squares: float
    noise: float

    @property
    def variance(self) -> float:
        return (self.noise * self.noise + self.squares / 2) / (1 + self.blocks / 2)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds per step from here on, and how far off that may be (as a logarithm) by the run's own past."""

    value: float
    spread: float


def pace(steps: Sequence[float], seconds: Sequence[float], ahead: float) -> Pace:
    """Of gaps without their pauses, for `ahead` steps to come."""
    blocks = _blocks(steps, seconds)
    whole = math.fsum(steps) / len(blocks)
    logs = [math.log(max(block.seconds / block.steps, 1e-300)) for block in blocks]
    sizes = [block.steps / whole for block in blocks]
    walked = math.fsum(steps)
    runs, levels = _regimes(logs, sizes, CHANGES * walked / (walked + ahead) / len(blocks))
    value, mean, spread = _mixed(runs, blocks, ahead / whole)
    better, drifted = _drift(logs, sizes, levels, ahead / whole)
    if better > 0:
        value = math.exp((1 - better) * math.log(value) + better * drifted)
        spread = math.hypot(spread, better * (drifted - mean) / 2)
    return Pace(value, math.hypot(spread, UNEVEN * _unevenness(logs, blocks) * math.sqrt(ahead / (walked + ahead))))


def _unevenness(logs: Sequence[float], blocks: Sequence[Block]) -> float:
    """How far a block's pace is off the middle one, as a logarithm, by where the time went: what has varied may vary
    again."""
    middle = median(logs)
    off = math.fsum(
        block.seconds * min(abs(log - middle), MOST_UNEVEN) ** 2 for log, block in zip(logs, blocks, strict=True)
    )
    seconds = math.fsum(block.seconds for block in blocks)
    return math.sqrt(off / seconds) if seconds > 0 else 0.0


def _blocks(steps: Sequence[float], seconds: Sequence[float]) -> list[Block]:
    if len(steps) <= BLOCKS:
        return [Block(*pair) for pair in zip(steps, seconds, strict=True)]
    size = math.fsum(steps) / BLOCKS * 0.999
    blocks: list[Block] = []
    open_steps = open_seconds = 0.0
    for step, second in zip(steps, seconds, strict=True):
        open_steps, open_seconds = open_steps + step, open_seconds + second
        if open_steps >= size:
            blocks.append(Block(open_steps, open_seconds))
            open_steps = open_seconds = 0.0
    if open_steps > 0.3 * size or not blocks:
        blocks.append(Block(open_steps, open_seconds))
    elif open_steps:
        blocks[-1] = Block(blocks[-1].steps + open_steps, blocks[-1].seconds + open_seconds)
    return blocks


def _regimes(logs: Sequence[float], sizes: Sequence[float], ends: float) -> tuple[list[Run], list[float]]:
    """Every beginning of the present regime with its weight (they sum to 1), and the level seen after each block.
    `ends` is how likely a regime ends with a block."""
    noise = max(NOISE, _roughness(logs))
    runs = [Run(1.0, 0, 1.0, sizes[0], logs[0], 0.0, noise)]
    levels = [logs[0]]
    for i in range(1, len(logs)):
        value, size = logs[i], sizes[i]
        fresh = 1 / (math.pi * ANYWHERE * (1 + ((value - levels[-1]) / ANYWHERE) ** 2))
        grown = [_after(run, value, size, ODD * fresh) for run in runs]
        grown.append(Run(ends / (1 - ends) * fresh, i, 1.0, size, value, 0.0, noise))
        total = sum([run.weight for run in grown])
        runs = [run for run in grown if run.weight > NEGLIGIBLE * total]
        total = sum([run.weight for run in runs])
        runs = [Run(run.weight / total, *run[1:]) for run in runs]
        levels.append(sum([run.weight * run.mean for run in runs]))
    return runs, levels


def _roughness(logs: Sequence[float]) -> float:
    """The noise by how far one block is usually off the next: a change of regime hardly shows in it."""
    return median(abs(b - a) for a, b in pairwise(logs)) / SMOOTH if len(logs) > 3 else 0.0


def _after(run: Run, value: float, size: float, odd: float) -> Run:
    """The regime after one more block: its weight by how likely that block was, its mean by how far it belongs."""
    weight, start, count, before, mean, squares, noise = run
    freedom, off = 2 + count, value - mean
    variance = run.variance * (1 / size + 1 / before)
    likely = _peak(freedom) / math.sqrt(variance) * (1 + off * off / (freedom * variance)) ** (-(freedom + 1) / 2)
    usual = (1 - ODD) * likely
    whole = usual + odd
    belongs = usual / whole
    size *= belongs
    after = before + size
    part = off * size / after
    return Run(weight * whole, start, count + belongs, after, mean + part, squares + off * part * before, noise)


def _peak(freedom: float) -> float:
    """The density of Student's t at its middle."""
    return (1 - 1 / (4 * freedom) + 1 / (32 * freedom * freedom)) / SQRT_2PI


def _mixed(runs: Sequence[Run], blocks: Sequence[Block], ahead: float) -> tuple[float, float, float]:
    """(seconds per step, its logarithm's mean, the spread of that mean over `ahead` blocks). After a regime is over,
    what is to come is the average of all that was."""
    steps, seconds = [0.0], [0.0]
    for block in reversed(blocks):
        steps.append(steps[-1] + block.steps)
        seconds.append(seconds[-1] + block.seconds)
    n, average = len(blocks), seconds[-1] / steps[-1]
    value = 0.0
    for run in runs:
        stays = _stays(n - run.start, ahead) if run.start else 1.0
        value += run.weight * (stays * seconds[n - run.start] / steps[n - run.start] + (1 - stays) * average)
    mean = math.fsum(run.weight * run.mean for run in runs)
    between = math.fsum(run.weight * (run.mean - mean) ** 2 for run in runs)
    within = math.fsum(run.weight * run.variance * (1 / max(run.size, 0.2) + 1 / max(ahead, 0.2)) for run in runs)
    return max(value, 1e-300), mean, math.sqrt(between + within)


def _stays(age: float, ahead: float) -> float:
    """The share of the way ahead over which a regime of this age should hold: what has just begun may soon be over."""
    lasts = LASTS * age * age
    return lasts / ahead * math.log1p(ahead / lasts) if ahead > 0 else 1.0


def _drift(logs: Sequence[float], sizes: Sequence[float], levels: Sequence[float], ahead: float) -> tuple[float, float]:
    """(the weight of a drift, the mean log pace it foretells)."""
    if len(logs) < DRIFT_BLOCKS:
        return 0.0, 0.0
    lines = _lines(logs, sizes)
    n, end = len(logs), lines[-1][2]
    summed = math.fsum(value * size for value, size in zip(logs, sizes, strict=True))
    stood = drifted = so_far = 0.0
    for k in range(n - max(1, n // 8)):
        so_far += logs[k] * sizes[k]
        if k < max(1, n // 4):
            continue
        value, slope, at = lines[k]
        came = (summed - so_far) / (end - at)
        stood += (levels[k] - came) ** 2
        drifted += (value + _shift(slope, end - at, at) - came) ** 2
    if stood <= 0:
        return 0.0, 0.0
    weight = 1 / (1 + (drifted / stood * DRIFT_CAUTION) ** 2)
    value, slope, at = lines[-1]
    shift = max(-MOST_DRIFT, min(MOST_DRIFT, _shift(slope, ahead, at)))
    return weight, value + shift


def _lines(logs: Sequence[float], sizes: Sequence[float]) -> list[tuple[float, float, float]]:
    """After each block the straight line through all so far: (its value there, its slope, where that is)."""
    lines = []
    w = x = y = xx = xy = at = 0.0
    for value, size in zip(logs, sizes, strict=True):
        middle, at = at + size / 2, at + size
        w, x, y = w + size, x + size * middle, y + size * value
        xx, xy = xx + size * middle * middle, xy + size * middle * value
        across = xx - x * x / w
        slope = (xy - x * y / w) / across if across > 1e-12 else 0.0
        lines.append((y / w + slope * (at - x / w), slope, at))
    return lines


def _shift(slope: float, ahead: float, past: float) -> float:
    """How much the mean over `ahead` blocks lies off the present: a drift is carried on as long as it was seen."""
    return slope * ahead / 2 if ahead <= past else slope * past * (1 - past / (2 * ahead))
