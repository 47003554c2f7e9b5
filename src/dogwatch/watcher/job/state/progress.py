"""Progress: where the counters of a job stand, and the history that estimates are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from dogwatch.estimate.series import add, keep_earlier
from dogwatch.model import Ended, Point, State, Step

MOST_TOTALS = 16
MILESTONES = (25, 50, 75, 100)
Moments = Sequence[tuple[float, float, float | None]]


class ProgressState(Struct, omit_defaults=True):
    """`steps` by log; `points` of this course and the `earlier` one that an attempt left behind, at monotonic times, so
    that a wall clock which is set changes no rate; `totals` as they changed, each with where the counter stood."""

    steps: dict[str, Step] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    earlier: list[Point] = field(default_factory=list)
    totals: list[list[float]] = field(default_factory=list)
    milestone: int = 0


def remember(progress: ProgressState, mono: float, step: Step) -> None:
    """Take in where the counter stands now. An attempt that begins again leaves its course behind, and a total that
    is changed is noted."""
    point = Point(mono, step.done)
    if progress.points and point.done < progress.points[-1].done:
        progress.earlier = list(keep_earlier(progress.points, progress.earlier, point))
    add(progress.points, point)
    if step.total is not None and (not progress.totals or progress.totals[-1][1] != step.total):
        progress.totals.append([step.done, step.total])
        del progress.totals[:-MOST_TOTALS]


def counted_at(progress: ProgressState, state: State | None, at: float, mono: float) -> float:
    """The moment, as `mono` counts, for which the counter holds that a poll found: of a job that had ended before the
    poll (`at`, by the clock of its place), when it ended."""
    if not isinstance(state, Ended) or state.at is None:
        return mono
    ended = mono - max(0.0, at - state.at)
    return max(ended, progress.points[-1].at) if progress.points else ended


def recall(
    progress: ProgressState, told: Mapping[str, Moments], ages: Mapping[str, float], step: Step, mono: float
) -> None:
    """The history that the only log of a job tells at first sight, by its own clock: whoever begins to watch a job in
    its middle knows its pace at once. `ages` is how long ago each log was written."""
    if progress.points or len(progress.steps) != 1:
        return
    log = next(iter(progress.steps))
    moments = told.get(log, ())
    if len(moments) < 2 or moments[-1][1] != step.done:
        return
    shift = mono - max(0.0, ages.get(log, 0.0)) - moments[-1][0]
    for at, done, _ in moments:
        add(progress.points, Point(at + shift, done))


def new_milestone(progress: ProgressState, fraction: float | None) -> int | None:
    """The per cent that are reached for the first time, each milestone told once."""
    reached = max((each for each in MILESTONES if fraction is not None and 100 * fraction >= each), default=0)
    if reached <= progress.milestone:
        return None
    progress.milestone = reached
    return reached
