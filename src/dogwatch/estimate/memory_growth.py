"""When the memory that a job uses will reach its limit; pure.

Memory grows while data and weights are loaded and then stays; it goes up and down with every garbage collection and
every checkpoint. So a rise counts as a leak only if both the minimum and the maximum rise from each third of a long
window to the next, and no slower at the end than before.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

EVERY = 120.0  # seconds between two samples that are kept
MOST = 60
WINDOW = 2400.0  # seconds that a rise must have lasted
LEAST_SAMPLES = 12
LEAST_SHARE = 0.02  # of the limit, by which it must have risen meanwhile
TOOTH = 0.25  # of the whole range: a fall of that is a tooth of a saw, and a rise over few teeth is none
TEETH = 3
FADES = 0.6  # of the earlier pace: what slows down more than that is on its way to a plateau


def sample(samples: list[list[float]], at: float, used: float, own: float) -> bool:
    """Remember what is used, and what of it the job's own processes hold, at a monotonic time. Whether it was kept."""
    if samples:
        passed = at - samples[-1][0]
        if 0 <= passed < EVERY:
            return False
        if passed < 0:  # the machine was booted since
            samples.clear()
    samples.append([at, used, own])
    del samples[:-MOST]
    return True


def full_in(samples: Sequence[Sequence[float]], limit: float) -> float | None:
    """Seconds until the limit is reached, counted from the newest sample; None where nothing rises steadily."""
    if len(samples) < LEAST_SAMPLES or samples[-1][0] - samples[0][0] < WINDOW:
        return None
    third = len(samples) // 3
    parts = [[used for _, used, _ in part] for part in (samples[:third], samples[third:-third], samples[-third:])]
    tops, floors, levels = [max(part) for part in parts], [min(part) for part in parts], [median(p) for p in parts]
    if not (tops[0] < tops[1] < tops[2] and floors[0] < floors[1] < floors[2]):
        return None
    if 0 < _teeth([used for _, used, _ in samples]) < TEETH:
        return None
    if levels[2] - levels[0] < LEAST_SHARE * limit:
        return None
    # The middle of each third lies a third of the window from the next; the middle one may hold two samples more.
    apart = (samples[-1][0] - samples[0][0]) / 3
    before, lately = (levels[1] - levels[0]) / apart, (levels[2] - levels[1]) / apart
    if lately < FADES * before:
        return None
    return max(0.0, limit - tops[2]) / lately


def _teeth(series: Sequence[float]) -> int:
    """How often it fell by a good part of its range."""
    deep = TOOTH * (max(series) - min(series))
    count, top = 0, series[0]
    for used in series:
        if top - used > deep:
            count, top = count + 1, used
        top = max(top, used)
    return count


def own_share(samples: Sequence[Sequence[float]]) -> float:
    """How much of the rise since the first sample is in the job's own processes."""
    risen = samples[-1][1] - samples[0][1] if samples else 0.0
    return (samples[-1][2] - samples[0][2]) / risen if risen > 0 else 0.0
