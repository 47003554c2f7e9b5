"""Generated runs with known ends: everything that makes an estimate hard, alone and together, from fixed seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from dogwatch.estimate.progress_rows import Row

KINDS = (
    "warm-up",
    "validation",
    "validation and checkpoints",
    "drift",
    "step change",
    "restless",
    "long epochs",
    "hiccups",
    "mixed",
    "resumed",
    "block-buffered",
    "late validation",
    "growing checkpoints",
    "items of any length",
    "told in bursts",
)
LONGEST_START = 30  # log intervals


@dataclass(slots=True)
class Plan:
    """What a run will do; drawn once, then played."""

    steps: int
    pace: float
    every: int
    noise: float
    start: float = 0.0
    pauses: tuple[tuple[int, float], ...] = ()
    drift: float = 0.0
    change: tuple[float, float] = (2.0, 1.0)
    memory: float = 0.0
    hiccups: float = 0.0
    crash: float = math.inf
    flush: int = 1
    first: float = 0.0  # step from which it pauses
    growth: float = 0.0  # of a pause, from the first step to the last
    burst: int = 1  # counts that are told together, a moment apart


def traces(each: int) -> list[list[Row]]:
    """So many runs of every kind, the same ones each time."""
    return [play(kind, seed) for kind in KINDS for seed in range(each)]


def play(kind: str, seed: int) -> list[Row]:
    rng = Random(f"{kind} {seed}")
    plan = _plan(kind, rng)
    rows = _rows(plan, rng)
    if plan.flush > 1:
        ends = [rows[min(len(rows) - 1, i // plan.flush * plan.flush + plan.flush - 1)].at for i in range(len(rows))]
        rows = [row._replace(at=at) for row, at in zip(rows, ends, strict=True)]
    for i in range(0, len(rows) - plan.burst, plan.burst) if plan.burst > 1 else ():
        last = rows[i + plan.burst].at
        rows[i + 1 : i + plan.burst] = [row._replace(at=last - 0.01) for row in rows[i + 1 : i + plan.burst]]
    if rng.random() < 0.3:  # a clock of whole seconds
        rows = [row._replace(at=math.floor(row.at)) for row in rows]
    return rows


def _plan(kind: str, rng: Random) -> Plan:
    steps = rng.choice([400, 1000, 3000, 20_000])
    every = max(1, steps // rng.choice([20, 50, 100, 300, 1000]))
    plan = Plan(steps, max(math.exp(rng.uniform(-2, 3)), 600 / steps), every, rng.choice([0.01, 0.03, 0.1, 0.3]))
    if kind == "long epochs":
        plan.steps, plan.every, plan.pace, plan.noise = rng.choice([8, 12, 20, 50]), 1, 900.0, rng.choice([0.01, 0.04])
    if kind not in ("long epochs", "restless", "hiccups"):
        plan.start = rng.random() * rng.choice([0, 0.5, 2, 10, LONGEST_START]) * plan.every * plan.pace
    if kind in ("validation", "validation and checkpoints", "mixed", "resumed", "block-buffered", "late validation"):
        plan.pauses += (_pause(plan, rng, [4, 8, 12, 24, 50, 100], 0.5),)
    if kind == "late validation":
        plan.first = rng.uniform(0.1, 0.6) * plan.steps
    if kind == "growing checkpoints":
        plan.pauses, plan.growth = (_pause(plan, rng, [8, 15, 30], 0.1),), rng.uniform(0.5, 3)
    if kind == "items of any length":
        plan.noise = rng.choice([0.7, 1.2])
    if kind == "told in bursts":
        plan.burst = rng.choice([2, 3, 4])
    if kind in ("validation and checkpoints", "mixed"):
        plan.pauses += (_pause(plan, rng, [5, 10, 20, 40], 0.15),)
    if kind == "drift":
        plan.drift = rng.choice([-0.2, -0.1, 0.1, 0.2, 0.4])
    if kind == "step change" or (kind == "mixed" and rng.random() < 0.3):
        plan.change = (rng.random(), rng.choice([0.5, 0.7, 1.25, 1.5, 2.0]))
    if kind == "restless":
        plan.noise, plan.memory = rng.choice([0.3, 0.6]), rng.choice([0.9, 0.99])
    if kind in ("hiccups", "mixed"):
        plan.hiccups = rng.choice([0.0, 1.0, 5.0]) / plan.steps
    if kind == "resumed":
        plan.crash = rng.uniform(0.2, 0.7) * plan.steps
    if kind == "block-buffered":
        plan.flush = rng.choice([2, 5, 20])
    return plan


def _pause(plan: Plan, rng: Random, times: list[int], longest: float) -> tuple[int, float]:
    period = max(2, plan.steps // rng.choice(times))
    return period, rng.uniform(0.02, longest) * period * plan.pace


def _rows(plan: Plan, rng: Random) -> list[Row]:
    """The run as its log would tell it; a crash throws it back by up to a tenth and costs a restart."""
    whole, at, mood, step, crash = plan.steps * plan.pace, 1.7e9, 0.0, 0, plan.crash
    rows = [Row(at, 0.0, float(plan.steps))]
    at += plan.start
    while step < plan.steps:
        step += 1
        mood = plan.memory * mood + rng.gauss(0, plan.noise) * math.sqrt(1 - plan.memory**2)
        pace = plan.pace * (1 + plan.drift * step / plan.steps) * math.exp(mood if plan.memory else min(mood, 1.0))
        at += pace * (plan.change[1] if step > plan.change[0] * plan.steps else 1.0)
        due = [seconds for period, seconds in plan.pauses if step % period == 1 and step > max(1, plan.first)]
        at += sum(seconds * rng.uniform(0.9, 1.1) for seconds in due) * (1 + plan.growth * step / plan.steps)
        at += rng.uniform(0.005, 0.04) * whole if rng.random() < plan.hiccups else 0.0
        if step % plan.every == 0 or step == plan.steps:
            rows.append(Row(at, float(step), float(plan.steps)))
        if step > crash:
            crash, step = math.inf, max(0, step - rng.randint(1, max(1, plan.steps // 10)))
            at += rng.uniform(0.01, 0.1) * whole
            rows.append(Row(at, float(step), float(plan.steps)))
    return rows
