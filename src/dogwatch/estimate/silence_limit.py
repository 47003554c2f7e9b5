"""Silence limit: how long a job may be silent before that means something, learnt from its own gaps. Pure.

No fixed time is right: a detector's first validation is silent five to thirty-five times as long as anything before
it, while another job never pauses for more than a second. So what was seen of this job counts, by phase, times a
safety factor; and as long as little was seen, there is an allowance for what the job may still do for the first time.
That allowance holds at milestones (`milestones.py`), after a last line of a new kind (`last_lines.py`), and where the
position of the job is not known. Between milestones, or after a last line of a kind that has stood last before, a
shorter one is enough, and a pause that followed lines of another kind is only expected after those.

What is new is not endless either. While a job starts, its longest silence and what was seen before it are together less
than an hour, but for those whose log tells nothing before the end of their training, and two that loaded their data for
three hours. What did not come after n lines of a kind comes after the next with odds of one to n: of the silences at a
start that were much longer than any before, nearly all followed a first line of their kind, and the others, but for
one, were shorter than an hour and a half divided by the times that such a line had stood there. Past the first dozen
gaps, in about six hundred healthy logs, no first pause lasted longer than 6.3 % of the time that the whole job takes
(where a total tells that), nor than 1.1 times what was seen before it or ten minutes, nor than two epochs where epochs
are counted. An epoch is at most about half of a job: one that has come so far without a pause, and is at no place where
others begin late, has none of its own.

The numbers were fitted on about a hundred runs of twelve families and the logs of a hundred and fifty projects;
`bench/stall.py` measures what they do. The longest first pauses were 1,738 s, after 5,300 s of gaps of at most 49 s,
and 1,988 s, after five hours with gaps of seven minutes; the longest gap that followed three of its kind was 1.5 times
the longest of those, unless the whole job had become slower, which its steps show before its pauses do.

What no log tells is left: a job that becomes many times slower from one line to the next, or whose machine sleeps for
an hour, is called stalled until its next line comes. Only what its processes do can tell that sooner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dogwatch.estimate.last_lines import Lines
from dogwatch.estimate.milestones import COUNTED, UNKNOWN_POSITION, Position, RunPosition

SAFETY = 1.6  # times the longest gap so far
# A start is over after an hour, and what begins after a line of a kind that has stood last n times takes an nth of an
# hour and a half.
HOUR, AFTER_SUCH = 3600.0, 5400.0
# What a job may do for the first time. It shrinks as hours pass without anything new, down to LEAST; and it is never
# more than a share of the whole, or of what was seen, or of its epochs where they are counted: what a job evaluates on
# is seldom more than what it trains on.
UNSEEN, HOURS_SEEN, LEAST = 2400.0, 3 * 3600.0, 600.0
OF_WHOLE, OF_SEEN, OF_EPOCH = 0.07, 1.2, 2.0
# What is allowed at least to a job that has shown that it pauses; and where it is known to be at a place at which it
# may begin something else, such as validating after fifteen epochs that were only saved.
PAUSED, PAUSED_THERE = 300.0, 1200.0
# A job that has paused so often, for so long, or has told of so many validations, has shown them; what else it begins
# lasts no longer.
VALIDATIONS, VALIDATION = 3, 150.0
# What is allowed between milestones, where a file system may hang for a minute, or for as long as the job has already
# paused somewhere, up to PAUSED. In a job that has never paused, an epoch may end without being expected, and last for
# this share of what was seen, until more of the total is done than one epoch.
BETWEEN, SURPRISE, EPOCH = 60.0, 0.3, 0.45
# Of what was seen: file systems hang for minutes, and the longer a job runs, the likelier one of them does.
HANGS = 0.0025
BETWEEN_SEEN = 300.0  # seconds of work that must have been seen before a road is one
# What is allowed at least after a line that has stood last before, at a place that a counter tells, and less the more
# often beyond this.
USUAL_THERE, THERE_TIMES = 480.0, 50
# A job whose last gaps (more than one) were all longer than usual has become slower, and so will its pauses be.
RISES, SLOWER, MOST_SLOWER = 1.25, 1.6, 3.0
# Processes that use no CPU and move no bytes do not load, compile, validate or save: then this is enough.
ASLEEP = 240.0
STEADY, VALIDATING, SAVING = "training", "validating", "checkpointing"
# Phases that a log announces are long, and the first of its kind says little about the next. All others are steady.
PHASES = {
    "starting": HOUR,
    "compiling": HOUR,
    VALIDATING: HOUR,
    SAVING: HOUR,
    "exporting": HOUR,
}
STARTS = frozenset({"starting", "compiling"})
_BEGINS, _FEW, _DISTINCT, _PAUSE, _WELL_KNOWN, _SELDOM = 4, 8, 2.0, 60.0, 5, 0.2
# A job that trains to a target may come to its end at any moment, and evaluate there for so much of what was seen.
LAST, LAST_MOST = 0.12, 5400.0
_MEMORY = 64
_LEAST_GAP = 1.0


@dataclass(slots=True)
class Gaps:
    """The gaps between signs of life in one phase, as the looks showed them: each as long as the silence that was
    seen and half a poll, since it began and ended between polls. `quiet` is the longest silence without that half,
    `alike` how many of them were about as long as the longest, `early` the longest of the first few, which hold the
    start, and `lately` about the least of the newest few."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    quiet: float = 0.0
    typical: float = 0.0
    alike: int = 0
    early: float = 0.0
    lately: float = 0.0

    def note(self, silent: float, interval: float, most: float = math.inf) -> float:
        """Count one more gap and return its length: so much silence was seen, and the poll that ended it came
        `interval` seconds after the one before; `most` is an upper limit that is known otherwise."""
        gap = max(silent, min(silent + interval / 2, most))
        self.count += 1
        self.seconds += silent + interval
        before = math.log(self.typical) if self.typical else 0.0
        now = math.log(max(gap, _LEAST_GAP))
        self.typical = math.exp(before + (now - before) / min(self.count, _MEMORY))
        self.lately = min(max(gap, _LEAST_GAP), RISES * self.lately or math.inf)
        self.quiet = max(self.quiet, silent)
        if gap > 2 * self.longest:
            self.alike = 1
        elif gap >= self.longest / 2:
            self.alike += 1
        self.longest = max(self.longest, gap)
        if self.count <= _FEW:
            self.early = self.longest
        return gap

    def to_json(self) -> list[float]:
        """The values in order, of which `Gaps(*values)` makes the same again."""
        kept = (self.count, self.seconds, self.longest, self.quiet, self.typical, self.alike, self.early, self.lately)
        return list(kept)


NO_GAPS, NO_LINES = Gaps(), Lines()


def kind_of(phase: str) -> str:
    """The phase whose gaps those of a phase are like."""
    return phase if phase in PHASES else STEADY


def silence_limit(
    gaps: Mapping[str, Gaps],
    phase: str,
    limit: float | None = None,
    *,
    asleep: bool = False,
    where: RunPosition = UNKNOWN_POSITION,
    lines: Lines = NO_LINES,
) -> float:
    """Seconds of silence that are normal in this phase: less when its processes sleep, when its position is between
    milestones, or when `lines` such as the last one were followed by short silences before. The owner's `limit` is the
    most, never the least."""
    phase = kind_of(phase)
    steady, seen = gaps.get(STEADY, NO_GAPS), gaps.get(phase, NO_GAPS)
    slower = _slower(steady) if has_paused(gaps) else 1.0
    longest = steady.longest if steady.count >= _BEGINS else max((of.longest for of in gaps.values()), default=0.0)
    allowed = slower * SAFETY * longest
    if phase in (STEADY, SAVING) or not _well_known(seen):  # a log may tell of what it saves, and not that it validates
        allowed = max(allowed, _allowance(gaps, asleep, where, lines))
    if phase != STEADY:
        allowed = max(allowed, _of_phase(seen, phase, asleep, slower, lines))
    after = slower * SAFETY * lines.longest.get(lines.last, 0.0)
    allowed = max(after, min(allowed, _after_such(gaps, phase, slower, where, lines)))
    return allowed if limit is None else min(allowed, limit)


def _after_such(gaps: Mapping[str, Gaps], phase: str, slower: float, where: RunPosition, lines: Lines) -> float:
    """The most that is allowed where lines such as the last have stood there before, by how often, and by what followed
    them. A bar that has run for a few seconds tells nothing of what comes behind it."""
    counted = where.position is not Position.UNKNOWN or where.to_target
    if not lines.times or (counted and not lines.several) or phase == "exporting" or _seen(gaps) < BETWEEN_SEEN:
        return math.inf
    if where.due:  # the job has said that something begins here, though not with this line
        return math.inf
    new = AFTER_SUCH / lines.times
    if where.position is Position.MILESTONE:
        new = max(new, USUAL_THERE * min(1.0, THERE_TIMES / lines.times))
    longest = max(each.longest for each in gaps.values())
    return max(_between_milestones(gaps), new, slower * max(longest, SAFETY * lines.longest_after))


def _between_milestones(gaps: Mapping[str, Gaps]) -> float:
    """What is allowed where nothing new is due."""
    return max(BETWEEN, min(PAUSED, HANGS * _seen(gaps)))


def _seen(gaps: Mapping[str, Gaps]) -> float:
    return math.fsum(of.seconds for of in gaps.values())


def has_paused(gaps: Mapping[str, Gaps]) -> bool:
    """Whether a pause was seen that stands out from the steady gaps."""
    return _paused(gaps) > 0


def _slower(gaps: Gaps) -> float:
    """How many times as long as usual its gaps have become."""
    times = gaps.lately / gaps.typical if gaps.typical else 1.0
    return min(MOST_SLOWER, times) if times > SLOWER else 1.0


def _allowance(gaps: Mapping[str, Gaps], asleep: bool, where: RunPosition, lines: Lines) -> float:
    """What is allowed to the steady phase beyond its own gaps."""
    steady, paused = gaps.get(STEADY, NO_GAPS), _paused(gaps)
    surprise = 0.0 if paused or where.epochs_known or where.share_seen >= EPOCH else SURPRISE * steady.seconds
    new, between = _new(gaps, where, surprise), steady.seconds >= BETWEEN_SEEN and steady.count >= COUNTED
    if where.position is Position.BETWEEN and between:
        survived = max(of.longest for phase, of in gaps.items() if phase not in STARTS)
        known = max(_between_milestones(gaps), min(PAUSED, survived), min(new, surprise))
    elif _has_validated(gaps):
        known = PAUSED
    elif paused:
        known = min(new, PAUSED_THERE) if where.position is Position.MILESTONE else PAUSED
    else:
        known = new
    if lines.new and between:
        known = max(known, min(PAUSED_THERE, _new(gaps, replace(where, epoch_seconds=None), 0.0)))
    if where.to_target and not paused:
        known = max(known, min(LAST_MOST, LAST * steady.seconds))
    return min(ASLEEP, known) if asleep else known


def _new(gaps: Mapping[str, Gaps], where: RunPosition, surprise: float) -> float:
    """How long something may last that it does for the first time."""
    steady = gaps.get(STEADY, NO_GAPS)
    if steady.count < COUNTED:
        most = [max(LEAST, HOUR - _seen(gaps))]
    else:
        hours = HOURS_SEEN / max(steady.seconds, 1.0)
        most = [max(LEAST, min(UNSEEN * min(1.0, hours), OF_SEEN * steady.seconds))]
        if where.total_seconds is not None:
            most.append(max(BETWEEN, surprise, OF_WHOLE * where.total_seconds))
    if where.epoch_seconds is not None and steady.seconds >= BETWEEN_SEEN:
        most.append(max(2 * BETWEEN, OF_EPOCH * where.epoch_seconds))
    return min(most)


def _has_validated(gaps: Mapping[str, Gaps]) -> bool:
    """Whether the log told of several validations beside its work, or pauses were seen that were too long for less."""
    if min(gaps.get(phase, NO_GAPS).count for phase in (VALIDATING, STEADY)) >= VALIDATIONS:
        return True
    return _paused(gaps) >= VALIDATIONS and max(of.quiet for of in gaps.values()) >= VALIDATION


def _paused(gaps: Mapping[str, Gaps]) -> int:
    steady = gaps.get(STEADY, NO_GAPS)
    return max((_pauses(of, steady) for phase, of in gaps.items() if phase not in STARTS), default=0)


def _pauses(of: Gaps, steady: Gaps) -> int:
    """How many pauses were seen that stand out from the steady gaps. One poll that happened to see nothing is none, a
    slow start is none, and what every third gap is like is no pause but how the job goes."""
    stands_out = of.quiet >= max(_PAUSE, _DISTINCT * steady.typical) and steady.count >= _FEW
    rare = of is not steady or of.alike <= _SELDOM * of.count
    start = of is steady and of.early >= of.longest / 2
    return of.alike - start if stands_out and rare else 0


def _well_known(seen: Gaps) -> bool:
    return seen.alike >= _WELL_KNOWN and seen.count >= _FEW


def _of_phase(seen: Gaps, phase: str, asleep: bool, slower: float, lines: Lines) -> float:
    """What is allowed to a phase that the log announced. A first line of its kind announces another, such as a last
    test on more than was validated on."""
    again = phase not in STARTS and seen.alike >= 2 and seen.longest >= _PAUSE
    known = not lines.new and (again or seen.alike >= _WELL_KNOWN)
    first = PAUSED if known else PHASES[phase]
    return max(slower * SAFETY * seen.longest, min(2 * ASLEEP, first) if asleep else first)
