"""Patience: how long a job may be silent before that means something, learnt from its own gaps. Pure.

No fixed time is right: a detector's first validation is silent five to thirty-five times as long as anything before
it, while another job never pauses for more than a second. So what was seen of this job counts, by phase, times a
safety factor; and as long as little was seen, there is an allowance for what the job may still do for the first time.
That allowance is due at the places where jobs begin something, and wherever it is not known how far the job is; on
the open road between them (`places`) a short one is enough.

The numbers were fitted on about a hundred healthy runs of twelve families; `bench/stall.py` measures what they do. The
longest first pauses there were 1,738 s, after 5,300 s of gaps of at most 49 s, and 1,988 s, after five hours with gaps
of seven minutes; the longest gap that followed three of its kind was 1.5 times the longest of those. All but one of
the first pauses of more than a minute came at a place, and that one lasted 83 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dogwatch.estimate.places import Ground

# The longest gap so far, times this: while it is one of a kind, and when there were three like it.
RARE, USUAL = 1.8, 1.6
# What a job may do for the first time. It shrinks as hours pass without anything new, down to LEAST.
UNSEEN, HOURS_SEEN, LEAST = 2400.0, 6 * 3600.0, 600.0
# What is allowed at least to a job that has shown that it pauses: once, or more often; and where it is known to be at
# a place at which it may begin something else, such as validating after fifteen epochs that were only saved.
PAUSED_ONCE, PAUSED = 600.0, 300.0
PAUSED_ONCE_THERE, PAUSED_THERE, LATE = 1800.0, 1200.0, 900.0
# A job that has paused so often, for so long, has shown its validations; what else it begins lasts no longer.
VALIDATIONS, VALIDATION = 3, 150.0
# What is allowed on the open road to a job that has never paused, and to one that has, or has gone on evenly for so
# many gaps and hours: a file system that hangs for a minute or two, a machine that was held up, a validation where
# nobody could expect it.
ROAD, KNOWN_ROAD = 300.0, 180.0
EVEN_COUNT, EVEN_SECONDS = 100, 2 * 3600.0
ROAD_SEEN = 1200.0  # seconds of work that must have been seen before a road is one
# Processes that use no CPU and move no bytes do not load, compile, validate or save: then this is enough.
ASLEEP = 240.0
# And processes that compute may be doing for the first time what nobody has seen of them yet.
BUSY = 1.5
# Phases that a log announces are long, and the first of its kind says little about the next.
PHASES = {
    "starting": 2400.0,
    "compiling": 3600.0,
    "validating": 3600.0,
    "checkpointing": 3600.0,
    "exporting": 3600.0,
}
STEADY = "training"
STARTS = frozenset({"starting", "compiling"})
_FEW, _DISTINCT, _PAUSE, _WELL_KNOWN, _SELDOM = 8, 2.0, 60.0, 5, 0.2
_MEMORY = 64
_LEAST_GAP = 1.0


@dataclass(slots=True)
class Gaps:
    """The gaps between signs of life in one phase, as the looks showed them: each as long as the silence that was
    seen and half a look, since it began and ended between looks. `quiet` is the longest silence without that half,
    `alike` how many of them were about as long as the longest, and `early` the longest of the first few, which hold the
    start."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    quiet: float = 0.0
    typical: float = 0.0
    alike: int = 0
    early: float = 0.0

    def note(self, silent: float, look: float) -> None:
        """One more gap: so much silence was seen, and the look that ended it came `look` seconds after the last."""
        gap = silent + look / 2
        self.count += 1
        self.seconds += silent + look
        before = math.log(self.typical) if self.typical else 0.0
        now = math.log(max(gap, _LEAST_GAP))
        self.typical = math.exp(before + (now - before) / min(self.count, _MEMORY))
        self.quiet = max(self.quiet, silent)
        if gap > 2 * self.longest:
            self.alike = 1
        elif gap >= self.longest / 2:
            self.alike += 1
        self.longest = max(self.longest, gap)
        if self.count <= _FEW:
            self.early = self.longest

    def to_json(self) -> list[float]:
        """The values in order, of which `Gaps(*values)` makes the same again."""
        return [self.count, self.seconds, self.longest, self.quiet, self.typical, self.alike, self.early]


NO_GAPS = Gaps()


def patience(
    gaps: Mapping[str, Gaps],
    phase: str,
    limit: float | None = None,
    *,
    asleep: bool = False,
    busy: bool = False,
    on: Ground = Ground.UNKNOWN,
) -> float:
    """Seconds of silence that are no news in this phase: less when its processes sleep or it is `on` the open road, and
    more, as long as it may still do something for the first time, when they compute. The owner's `limit` is the most,
    never the least."""
    allowed, seen = _learnt(gaps.get(STEADY, NO_GAPS)), gaps.get(phase, NO_GAPS)
    if phase == STEADY or not _well_known(seen):
        allowed = max(allowed, _allowance(gaps, asleep, busy, on))
    if phase != STEADY:
        allowed = max(allowed, _of_phase(seen, phase, asleep, busy))
    return allowed if limit is None else min(allowed, limit)


def has_paused(gaps: Mapping[str, Gaps]) -> bool:
    """Whether a pause was seen that stands out from the steady gaps."""
    return _paused(gaps) > 0


def _learnt(gaps: Gaps) -> float:
    usual = gaps.alike >= 3 and gaps.count >= _FEW
    return (USUAL if usual else RARE) * gaps.longest


def _allowance(gaps: Mapping[str, Gaps], asleep: bool, busy: bool, on: Ground) -> float:
    """What is allowed to the steady phase beyond its own gaps."""
    steady, paused = gaps.get(STEADY, NO_GAPS), _paused(gaps)
    unseen = max(LEAST, UNSEEN * min(1.0, HOURS_SEEN / max(steady.seconds, 1.0)))
    if on is Ground.OPEN and steady.seconds >= ROAD_SEEN:
        even = steady.count >= EVEN_COUNT and steady.seconds >= EVEN_SECONDS
        known, busy = KNOWN_ROAD if paused or even else ROAD, False
    elif _has_validated(gaps):
        known, busy = PAUSED, False
    elif on is Ground.LATE and steady.seconds >= ROAD_SEEN:
        known = min(unseen, LATE)
    elif paused >= 2:
        known, busy = PAUSED_THERE if on is Ground.PLACE else PAUSED, False
    elif paused:
        known = min(unseen, PAUSED_ONCE_THERE) if on is Ground.PLACE else PAUSED_ONCE
    else:
        known = unseen
    return _by_processes(known, ASLEEP, asleep, busy)


def _has_validated(gaps: Mapping[str, Gaps]) -> bool:
    """Whether pauses were seen several times that were too long for anything less than a validation."""
    return _paused(gaps) >= VALIDATIONS and max(of.quiet for of in gaps.values()) >= VALIDATION


def _paused(gaps: Mapping[str, Gaps]) -> int:
    steady = gaps.get(STEADY, NO_GAPS)
    return max((_pauses(of, steady) for phase, of in gaps.items() if phase not in STARTS), default=0)


def _pauses(of: Gaps, steady: Gaps) -> int:
    """How many pauses were seen that stand out from the steady gaps. One look that happened to see nothing is none, a
    slow start is none, and what every third gap is like is no pause but how the job goes."""
    stands_out = of.quiet >= max(_PAUSE, _DISTINCT * steady.typical) and steady.count >= _FEW
    rare = of is not steady or of.alike <= _SELDOM * of.count
    start = of is steady and of.early >= of.longest / 2
    return of.alike - start if stands_out and rare else 0


def _well_known(seen: Gaps) -> bool:
    return seen.alike >= _WELL_KNOWN and seen.count >= _FEW


def _of_phase(seen: Gaps, phase: str, asleep: bool, busy: bool) -> float:
    first = PAUSED_ONCE if seen.alike >= _WELL_KNOWN else PHASES.get(phase, UNSEEN)
    return max(_learnt(seen), _by_processes(first, 2 * ASLEEP, asleep, busy))


def _by_processes(allowed: float, asleep_most: float, asleep: bool, busy: bool) -> float:
    if asleep:
        return min(asleep_most, allowed)
    return BUSY * allowed if busy else allowed
