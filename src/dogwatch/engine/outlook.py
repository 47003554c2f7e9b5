"""Outlook: a job's history as the estimate needs it, and the estimate of when it will be done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.engine.memory import Memory
from dogwatch.engine.reading import worker_of
from dogwatch.estimate.eta import estimate
from dogwatch.estimate.series import add, keep_earlier
from dogwatch.estimate.together import Worker, last_of
from dogwatch.estimate.totals import expected
from dogwatch.model import Ended, Eta, Point, Progress, State, Step

MOST_TOTALS = 16
SHARE, LONGEST = 0.02, 30.0  # of the time left, and seconds, after which an estimate is made anew
Moments = Sequence[tuple[float, float, float | None]]


def remember(memory: Memory, mono: float, step: Step) -> None:
    """Take in where the counter stands now. An attempt that begins again leaves its course behind, and a total that
    is changed is noted."""
    point = Point(mono, step.done)
    if memory.points and point.done < memory.points[-1].done:
        memory.earlier = list(keep_earlier(memory.points, memory.earlier, point))
    add(memory.points, point)
    if step.total is not None and (not memory.totals or memory.totals[-1][1] != step.total):
        memory.totals.append([step.done, step.total])
        del memory.totals[:-MOST_TOTALS]


def counted_at(memory: Memory, state: State | None, at: float, mono: float) -> float:
    """The moment, as `mono` counts, for which the counter holds that a look found: of a job that had ended before the
    look (`at`, by the clock of its place), when it ended."""
    if not isinstance(state, Ended) or state.at is None:
        return mono
    ended = mono - max(0.0, at - state.at)
    return max(ended, memory.points[-1].at) if memory.points else ended


def recall(memory: Memory, told: Mapping[str, Moments], ages: Mapping[str, float], step: Step, mono: float) -> None:
    """The history that the only log of a job tells at first sight, by its own clock: whoever begins to watch a job in
    its middle knows its pace at once. `ages` is how long ago each log was written."""
    if memory.points or len(memory.steps) != 1:
        return
    log = next(iter(memory.steps))
    moments = told.get(log, ())
    if len(moments) < 2 or moments[-1][1] != step.done:
        return
    shift = mono - max(0.0, ages.get(log, 0.0)) - moments[-1][0]
    for at, done, _ in moments:
        add(memory.points, Point(at + shift, done))


def outlook(memory: Memory, progress: Progress, mono: float, track: Mapping[str, Any]) -> Eta | None:
    """When the job will be done; of several workers with totals of their own, when the last of them will."""
    history: list[tuple[float, float | None]] = [(done, total) for done, total in memory.totals]
    total = expected([*history, (progress.step, progress.total)])
    whole = estimate(memory.points, total, mono, memory.earlier)
    return last_of(whole, _workers(memory, track), mono) if len(memory.worker_points) > 1 else whole


def good_for(found: Eta | None, *, stands: bool) -> float:
    """Seconds for which an estimate is good, since making one walks the whole history: until it could have changed by a
    visible part. Where there was none, a counter that `stands` gives none: time alone does not."""
    if found is None:
        return math.inf if stands else 0.0
    return min(LONGEST, SHARE * found.remaining)


def _workers(memory: Memory, track: Mapping[str, Any]) -> list[Worker]:
    """Those that count in one log only, up to a total that it states."""
    listed = {path: index for kind in ("logs", "progress") for index, path in enumerate(track.get(kind) or ())}
    logs: dict[str, list[Step]] = {}
    for path, step in memory.steps.items():
        logs.setdefault(str(worker_of(path, listed)), []).append(step)
    found = []
    for worker, points in memory.worker_points.items():
        steps = logs.get(worker, [])
        if len(steps) == 1 and steps[0].total:
            found.append(Worker([Point(at, done) for at, done in points], steps[0].total))
    return found
