"""Runs whose truth is known: steps, pauses, changes and a logger, made to measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from dogwatch.estimate.eta import estimate
from dogwatch.model import Eta, Point


def run(
    steps: int,
    pace: Callable[[int], float] | float = 1.0,
    *,
    every: int = 1,
    start: float = 0.0,
    pauses: Sequence[tuple[int, float]] = (),
    noise: float = 0.02,
    first: int = 0,
    seed: int = 1,
) -> list[Point]:
    """A counter logged `every` so many steps: seconds per step, a slow start, pauses of (every N, seconds)."""
    rng, at = Random(seed), start
    points = [Point(0.0, float(first))]
    for step in range(first + 1, steps + 1):
        at += (pace(step) if callable(pace) else pace) * rng.uniform(1 - noise, 1 + noise)
        at += sum(seconds for period, seconds in pauses if step % period == 1 and step > first + 1)
        if step % every == 0 or step == steps:
            points.append(Point(at, float(step)))
    return points


def until(points: Sequence[Point], share: float) -> tuple[list[Point], float, float]:
    """(the points so far, now, the seconds that really are left) when a share of the run's time has passed."""
    now = points[0].at + share * (points[-1].at - points[0].at)
    return [point for point in points if point.at <= now], now, points[-1].at - now


def asked(points: list[Point], share: float, total: float | None = None) -> tuple[Eta, float]:
    """The estimate at a share of the run's time, and the truth."""
    past, now, truth = until(points, share)
    eta = estimate(past, points[-1].done if total is None else total, now)
    assert eta is not None
    return eta, truth


def width(eta: Eta) -> float:
    return (eta.high - eta.low) / eta.remaining
