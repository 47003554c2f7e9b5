"""A trend: when something that is being used up will be gone; pure.

Room on a disk goes in steps, by checkpoints and logs, and comes back when old ones are deleted. So a trend counts
only if both the most and the least that was free went down from each third of a long window to the next, and its
pace is that of the whole window.
"""

from __future__ import annotations

from collections.abc import Sequence

EVERY = 180.0  # seconds between two samples that are kept: ten of them make the window
MOST = 64
WINDOW = 1800.0  # seconds that a trend must have lasted
LEAST_SAMPLES = 9
LEAST_SHARE = 0.005  # of what is left, that must have gone meanwhile


def sample(samples: list[list[float]], at: float, left: float) -> None:
    """Remember what is left at a monotonic time; of a long history, every second sample stays."""
    if samples:
        passed = at - samples[-1][0]
        if 0 <= passed < EVERY:
            return
        if passed < 0:  # the machine was booted since
            samples[:] = [one for one in samples if one[0] <= at]
    samples.append([at, left])
    if len(samples) > MOST:
        del samples[1:-1:2]


def gone_in(samples: Sequence[Sequence[float]]) -> float | None:
    """Seconds until nothing is left, counted from the newest sample; None where there is no steady trend."""
    if len(samples) < LEAST_SAMPLES or samples[-1][0] - samples[0][0] < WINDOW:
        return None
    third = len(samples) // 3
    parts = [[left for _, left in part] for part in (samples[:third], samples[third:-third], samples[-third:])]
    tops, floors = [max(part) for part in parts], [min(part) for part in parts]
    if not (tops[0] > tops[1] > tops[2] and floors[0] > floors[1] > floors[2]):
        return None
    used, left = samples[0][1] - samples[-1][1], samples[-1][1]
    if used < LEAST_SHARE * max(left, 1.0):
        return None
    return left * (samples[-1][0] - samples[0][0]) / used
