"""How often to look: as often as suits the job, as seldom as is polite to the place."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

MINUTE, HOUR = 60.0, 3600.0
SILENT, SOONEST = 15.0, 2.0
FIRST_BACKOFF, LONGEST_BACKOFF = 5.0, 600.0
# Trying again soon does not open these doors, and login nodes ban those who hammer at them.
LOCKED_OUT = frozenset({"auth", "host_key"})


def interval(age: float, remaining: float | None, silence_left: float | None = None) -> float:
    """Seconds between two polls of a job of this age (seconds): 5-10 while it is young or about to end, 10-30 within
    the hour, up to 60 beyond; while it may be stuck at most 15, or until its silence limit is reached."""
    if silence_left is not None:
        soon = min(SILENT, interval(age, remaining))
        return min(soon, max(SOONEST, silence_left)) if silence_left > 0 else soon
    length = max(age, remaining or 0.0)
    if age < 2 * MINUTE or (remaining is not None and remaining < 2 * MINUTE):
        return 5.0
    if length < 10 * MINUTE:
        return _between(length, 2 * MINUTE, 10 * MINUTE, 5.0, 10.0)
    if length < HOUR:
        return _between(length, 10 * MINUTE, HOUR, 10.0, 30.0)
    return _between(length, HOUR, 4 * HOUR, 30.0, 60.0)


def place_interval(floor: float, wanted: Iterable[float]) -> float:
    """Seconds between looks at a place: what its most impatient job wants, never below its floor. Nobody is asked
    once somebody wants the floor: ten thousand jobs of a cluster all do."""
    least = math.inf
    for one in wanted:
        if one <= floor:
            return floor
        least = min(least, one)
    return least if least < math.inf else max(floor, MINUTE)


def backoff(failed_polls: int, floor: float, rng: random.Random, kind: str = "") -> float:
    """Seconds until an unreachable place is asked again: doubling, jittered, so that a thousand watchers do
    not come back in the same second, and never below its floor."""
    doubled = max(floor, FIRST_BACKOFF) * 2.0 ** min(max(failed_polls - 1, 0), 10)
    base = LONGEST_BACKOFF if kind in LOCKED_OUT else min(LONGEST_BACKOFF, doubled)
    return max(floor, base) * rng.uniform(1.0, 1.2)


def _between(x: float, low: float, high: float, least: float, most: float) -> float:
    return least + (most - least) * min(1.0, max(0.0, (x - low) / (high - low)))
