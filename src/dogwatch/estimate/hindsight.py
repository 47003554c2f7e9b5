"""Hindsight: how far off the average of a run's past would have been when it was younger."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

ASKED = 4  # times, each before the way that the one after it looked over
LONGEST = 3.0  # times the way behind that it looks ahead at most
LEAST = 2  # gaps behind


def hindsight(steps: Sequence[float], seconds: Sequence[float], ahead: float) -> float:
    """As a logarithm, the middle error of asking the past for as much more of the way as is ahead now: at half of a
    run, at half of what it has done, at a quarter of it …; 0 where it is too young for that. The seconds are those
    without pauses, which are foretold by themselves."""
    done = list(accumulate(steps, initial=0.0))
    took = list(accumulate(seconds, initial=0.0))
    part = 1 / (1 + min(LONGEST, ahead / done[-1]))
    squares, asked, end = 0.0, 0, len(steps)
    while asked < ASKED:
        then = bisect_left(done, done[end] * part)
        if then < LEAST or then >= end:
            break
        came = (took[end] - took[then]) / (done[end] - done[then])
        squares += math.log(came * done[then] / took[then]) ** 2
        asked, end = asked + 1, then
    return math.sqrt(squares / asked) if asked else 0.0
