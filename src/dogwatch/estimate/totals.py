"""The total that a counter is really on its way to, where it is raised again and again as the job goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

RAISED = 3  # times, in the second half of the way too, before a total counts as growing
MOST = 0.9  # of the way done that the total may move off with it; beyond that there is no end in sight


def expected(history: Sequence[tuple[float, float | None]]) -> float | None:
    """Of (done, total) so far: the newest total; of one that grows with the work, where the two will meet. None
    where no total is known, or it runs off as fast as the counter follows."""
    known = [(done, total) for done, total in history if total is not None and math.isfinite(total)]
    if not known or history[-1][1] is None:
        return None
    done, total = known[-1]
    middle = (known[0][0] + done) / 2
    before = next((pair for pair in reversed(known) if pair[0] <= middle), known[0])
    raises = [(b[0], b[1]) for a, b in pairwise(known) if b[1] > a[1]]
    late = sum(at > middle for at, _ in raises)
    if len(raises) < RAISED or late < RAISED - 1 or done <= before[0] or total <= before[1]:
        return total
    share = (total - before[1]) / (done - before[0])
    return (total - share * done) / (1 - share) if share < MOST else None
