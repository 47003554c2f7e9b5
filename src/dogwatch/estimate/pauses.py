"""The pauses of a run: validation, checkpoints, hiccups; how often they come, and what they still will cost.

A pause is the part of a gap that is far beyond the pace round it. Those that come every so many steps make a
cycle, which is carried on to the end of the run; the others count as chance.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import NamedTuple

from dogwatch.estimate.gap_history import Gap, GapHistory
from dogwatch.estimate.pace import BLOCKS

ROUND = 7  # gaps on each side that tell the pace round a gap
QUICK = 0.4  # quantile of theirs, by steps: up to half of them may hold a pause
FAR_SHARE, FAR_NOISE = 0.6, 4.0  # beyond the pace, beyond the usual noise
LEAST_GAPS = 5
IN_A_ROW, OUTSTANDING = 3, 3.0
KINDS = 3
LIKE = 0.5  # of the longest: pauses of one kind
REGULAR = 0.75  # of the pauses that a cycle foretold, beyond what chance would give it
NEWEST = 6  # pauses whose mean length the next ones have
EARLY = 8  # gaps; a single pause before that belongs to the start
FIRST = 0.75  # of its length that the next ones are taken for: the middle of what real runs still pause after a first
GOES_ON = 0.5  # a pause that nobody has seen end yet lasts half as long again
CEASED, BEGUN = 0.05, 0.15  # how unlikely it must be that chance pauses all lie in the first, or the last, part
OUTLIER = 3.0  # times the middle length of a cycle's pauses; what was longer was something else as well
NIGHT = 3.0  # times all the rest of a run: a single pause so long is a hole in it, and no part of what it does
OFTEN = 0.1  # of the gaps: chance pauses that come so often are how it goes, as of a counter that is told unevenly
PINNED = 24  # pauses at most that pin down a cycle
LATE = 4  # pauses that make a cycle although it did not begin with the run


class Pause(NamedTuple):
    """Somewhere between two counts, for so many seconds more than the steps took."""

    start: float
    end: float
    seconds: float

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2


@dataclass(frozen=True, slots=True)
class Cycle:
    """A pause of `seconds` every so many steps; `seen` so often, with this spread of seconds, newest at `last`."""

    every: float
    last: float
    seconds: float
    spread: float
    seen: int
    wide: float = 0.0

    def ahead(self, done: float, total: float) -> list[float]:
        """The counts at which it will come; one that falls on the very end comes after it."""
        first = self.last + self.every
        first += self.every * max(0, math.ceil((done - self.wide / 2 - first) / self.every))
        count = math.floor((total - self.wide / 2 - first) / self.every * (1 + 1e-9)) + 1
        return [first + i * self.every for i in range(min(count, 100_000))]


@dataclass(frozen=True, slots=True)
class Pauses:
    """What was found: seconds beyond the pace per gap, the cycles, the chance ones, and the one going on."""

    beyond: tuple[float, ...]
    cycles: tuple[Cycle, ...] = ()
    chance: tuple[float, ...] = ()
    way: float = 0.0  # steps in which those came
    going: float = 0.0  # seconds that the pause of this moment will have lasted in all


def find(history: GapHistory, silence: float) -> Pauses:
    """`silence` is how long the counter has not moved beyond its usual gap."""
    gaps = history.gaps
    if len(gaps) < LEAST_GAPS:
        return Pauses((0.0,) * len(gaps), way=math.fsum(gap.steps for gap in gaps))
    beyond, noise = _beyond(gaps)
    whole = math.fsum(gap.seconds for gap in gaps)
    pauses = [
        Pause(gap.start, gap.end, extra)
        for gap, extra in zip(gaps, beyond, strict=True)
        if 0 < extra <= NIGHT * (whole - extra)
    ]
    usual = median(gap.seconds for gap in gaps[-15:])
    going = silence if silence > max(FAR_NOISE * noise, usual) else 0.0
    cycles, free = _cycles(pauses, history)
    if len(gaps) > BLOCKS and len(free) >= OFTEN * len(gaps):  # with fewer, one pause is a whole block of the pace
        often, free = set(free), []
        beyond = [
            0.0 if Pause(gap.start, gap.end, extra) in often else extra for gap, extra in zip(gaps, beyond, strict=True)
        ]
    free, way = _going_on(free, history)
    known = None
    if going:
        now = Pause(history.done, history.done + median(gap.steps for gap in gaps[-15:]), going)
        cycles, free, known = _joined(cycles, free, now, history)
        going = known.seconds if known is not None and going < known.seconds else going * (1 + GOES_ON)
    return Pauses(tuple(beyond), tuple(cycles), tuple(pause.seconds for pause in free), way, going)


def _going_on(free: list[Pause], history: GapHistory) -> tuple[list[Pause], float]:
    """(the chance pauses that can be expected again, the steps in which they came): none, where so many would hardly
    ever all lie so far back; only since they began, where they would hardly ever all lie so near."""
    begin, way = history.gaps[0].start, math.fsum(gap.steps for gap in history.gaps)
    if not free or any(
        b.start < a.end for a, b in pairwise(history.gaps)
    ):  # it went back: where they lay means nothing
        return free, way
    if (max(0.0, free[-1].end - begin) / way) ** len(free) < CEASED:
        return [], way
    since = history.done - free[0].start
    if len(free) > 1 and (since / way) ** len(free) < BEGUN:
        way = min(way, since + (free[-1].start - free[0].start) / (len(free) - 1))
    return free, way


def _beyond(gaps: Sequence[Gap]) -> tuple[list[float], float]:
    """Per gap the seconds that a pause took of it, 0 for most; and the noise of the others."""
    paces = _paces_round(gaps)
    rest = [gap.seconds - gap.steps * pace for gap, pace in zip(gaps, paces, strict=True)]
    noise = 1.4826 * median(abs(one) for one in rest)
    far = [
        one if one > max(FAR_NOISE * noise, FAR_SHARE * (gap.seconds - one)) else 0.0
        for gap, one in zip(gaps, rest, strict=True)
    ]
    return _isolated(far, gaps, paces), noise


def _isolated(far: list[float], gaps: Sequence[Gap], paces: Sequence[float]) -> list[float]:
    """Without those among long gaps that follow one another, but for one that is far longer than they: a stretch of
    long gaps is a slower pace."""
    last = len(gaps) - 1
    quick = [min(paces[max(0, i - ROUND)], paces[i], paces[min(last, i + ROUND)]) for i in range(len(gaps))]
    long = [gap.seconds - gap.steps * pace for gap, pace in zip(gaps, quick, strict=True)]
    slow = [one > FAR_SHARE * gap.steps * pace for one, gap, pace in zip(long, gaps, quick, strict=True)]
    out, begin = list(far), 0
    for i in range(len(gaps) + 1):
        if i <= last and slow[i]:
            continue
        if i - begin >= IN_A_ROW:
            alike = OUTSTANDING * median(long[begin:i])
            out[begin:i] = [one if one > alike else 0.0 for one in far[begin:i]]
        begin = i + 1
    return out


def _paces_round(gaps: Sequence[Gap]) -> list[float]:
    """The quick half's pace among the neighbours of each gap, in seconds per step."""
    pairs = [(gap.seconds / gap.steps, gap.steps) for gap in gaps]
    width = 2 * ROUND + 1
    if len(pairs) <= width:
        return [_quantile(pairs)] * len(pairs)
    found = [_quantile(pairs[i : i + width]) for i in range(len(pairs) - width + 1)]
    return [found[min(max(i - ROUND, 0), len(found) - 1)] for i in range(len(pairs))]


def _quantile(pairs: Sequence[tuple[float, float]]) -> float:
    ordered = sorted(pairs)
    left = QUICK * sum([weight for _, weight in pairs])
    for value, weight in ordered:
        left -= weight
        if left <= 0:
            return value
    return ordered[-1][0]


def _cycles(pauses: Sequence[Pause], history: GapHistory) -> tuple[list[Cycle], list[Pause]]:
    """(cycles, pauses outside them). The longest kind of pause goes first."""
    cycles: list[Cycle] = []
    free = list(pauses)
    for _ in range(KINDS):
        if len(free) < 2:
            break
        longest = max(pause.seconds for pause in free)
        kind = [pause for pause in free if pause.seconds > LIKE * longest]
        found = _regular(kind, history) or (_regular(free, history) if len(free) > len(kind) else None)
        if found is None:
            break
        cycles.append(found[0])
        free = [pause for pause in free if pause not in found[1]]
    if len(free) == 1 and not any(_alike(free[0].seconds, cycle.seconds) for cycle in cycles):
        one = _first_of_many(free[0], history)
        if one is not None:
            return [*cycles, one], []
    return cycles, free


def _alike(seconds: float, others: float) -> bool:
    """Whether pauses are of one kind: what is left of a kind whose cycle is known is no cycle of its own."""
    return min(seconds, others) > LIKE * max(seconds, others)


def _joined(
    cycles: list[Cycle], free: list[Pause], now: Pause, history: GapHistory
) -> tuple[list[Cycle], list[Pause], Cycle | None]:
    """The same with the pause that is going on: it belongs to the cycle that was due, or makes one with a pause
    before it; the cycle it belongs to comes last."""
    for i, cycle in enumerate(cycles):
        times = max(1, round((now.middle - cycle.last) / cycle.every))
        if abs(now.middle - cycle.last - times * cycle.every) <= max(cycle.wide, now.end - now.start):
            return [*cycles[:i], replace(cycle, last=now.middle), *cycles[i + 1 :]], free, cycle
    found = _regular([*free, now], history) if free and not cycles else None
    if found is None or now not in found[1]:
        return cycles, free, None
    ended = [pause for pause in found[1] if pause is not now]
    cycle = replace(found[0], seconds=fmean(pause.seconds for pause in ended), seen=len(ended))
    return [cycle], [pause for pause in free if pause not in ended], cycle


def _first_of_many(pause: Pause, history: GapHistory) -> Cycle | None:
    """A single pause is taken for the first of a cycle, counted from where the run began, until the second fails
    to come."""
    every, usual = pause.middle - history.first, median(gap.steps for gap in history.gaps)
    if every < EARLY * usual or history.done >= history.first + 2 * every + 2 * usual:
        return None
    return Cycle(every, pause.middle, FIRST * pause.seconds, pause.seconds / 2, 1, pause.end - pause.start)


def _regular(pauses: Sequence[Pause], history: GapHistory) -> tuple[Cycle, list[Pause]] | None:
    """The period that foretells these pauses best from the newest backwards, and those it foretells."""
    if len(pauses) < 2:
        return None
    middles = [pause.middle for pause in pauses]
    apart = [b - a for a, b in pairwise(middles)]
    periods = {median(apart), min(apart), apart[-1], fmean(apart[-5:]), middles[0] - history.first}
    found = [(_fit(every, pauses, middles, history), every) for every in periods if every > 0]
    (score, members), every = max(found, key=lambda fit: (round(fit[0][0], 6), fit[1]))
    if score <= 0:
        return None
    lasted = [pause.seconds for pause in members][-NEWEST:]
    lasted = [min(one, OUTLIER * median(lasted)) for one in lasted]
    spread = pstdev(lasted) if len(lasted) > 2 else fmean(lasted) / 2
    every, first, last = _pinned(members, every)
    return Cycle(every, (first + last) / 2, fmean(lasted), spread, len(members), last - first), members


def _pinned(members: Sequence[Pause], every: float) -> tuple[float, float, float]:
    """(the period, and the counts between which the newest pause came), by the newest of them that agree: each came
    somewhere within its gap, and gaps of uneven steps tell that more sharply than their middles do. Of whole counts it
    is a whole number where it may."""
    newest = members[-1]
    least, most, agree = 0.0, math.inf, [(0, newest)]
    for pause in reversed(members[-PINNED:-1]):
        ago = round((newest.middle - pause.middle) / every)
        apart = [(later, ago - since) for since, later in agree if since < ago]
        low = max([least, *((later.start - pause.end) / times for later, times in apart)])
        high = min([most, *((later.end - pause.start) / times for later, times in apart)])
        if low > high * (1 + 1e-9):
            break
        least, most, every = low, high, min(max(every, low), high)
        agree.append((ago, pause))
    if max(1.0, least) <= round(every) <= most and all(count % 1 == 0 for _, pause in agree for count in pause[:2]):
        every = float(round(every))
    first = max(pause.start + ago * every for ago, pause in agree)
    return every, first, max(first, min(pause.end + ago * every for ago, pause in agree))


def _fit(
    every: float, pauses: Sequence[Pause], middles: Sequence[float], history: GapHistory
) -> tuple[float, list[Pause]]:
    """(how well a period explains the pauses, 0 if it does not; those it explains)."""
    begin, newest = history.gaps[0].start, pauses[-1]
    slack = 1.01 * max(newest.end - newest.start, median(gap.steps for gap in history.gaps))
    if every <= slack:
        return 0.0, []
    backwards = (newest.middle - i * every for i in range(1, int((newest.middle - begin) / every + 1e-9) + 1))
    foretold = [count for count in backwards if count > begin + slack]
    since = [count for count in foretold if count > middles[0] - slack]
    if len(since) + 1 >= LATE:
        foretold = since
    members, hits = {len(pauses) - 1}, 1
    wide = [max(slack, (pause.end - pause.start) * 1.01) for pause in pauses]
    for count in foretold:
        width, drift = max(wide), 0.01 * (newest.middle - count)
        first, last = bisect_left(middles, count - width - drift), bisect_right(middles, count + width + drift)
        near = [i for i in range(first, last) if abs(middles[i] - count) <= wide[i] + drift]
        if near:
            hits += 1
            members.add(min(near, key=lambda i, at=count: abs(middles[i] - at)))  # type: ignore[misc]
    due = max(0, math.floor((history.done - slack - newest.middle) / every))
    chance = 1 - math.exp(-2 * slack * len(pauses) / max(history.done - begin, 1e-300))
    share = (hits / (len(foretold) + 1 + due) - chance) / max(1 - chance, 1e-9)
    if len(members) < 2 or share < REGULAR:
        return 0.0, []
    chosen = [pauses[i] for i in sorted(members)]
    return share * math.fsum(p.seconds for p in chosen) / math.fsum(p.seconds for p in pauses), chosen
