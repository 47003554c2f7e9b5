"""Tempo: whether a job has been called slow, and since when as many workers do the work as now."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dogwatch.estimate.slowdown import Slowdown, has_recovered, slowdown
from dogwatch.estimate.stall import moment
from dogwatch.model import Point


class TempoState(Struct, omit_defaults=True):
    """`slow` while the job is called so; `over` is how many workers are done or gone, since `since`."""

    slow: Slowdown | None = None
    over: int | None = None
    since: float = 0.0


def note_at_work(tempo: TempoState, over: int, mono: float) -> None:
    """Remember since when so many workers do the work: all together are slower when one of them is done or gone, and
    that is no slow-down."""
    if tempo.over != over:
        tempo.since = mono if tempo.over is not None or over else 0.0
        tempo.over = over


def slow_since(tempo: TempoState, points: Sequence[Point], mono: float, at: float) -> tuple[float, str] | None:
    """Since when the job is slow, and how slow, in words; None when it is not. One that was called slow stays so until
    it has recovered."""
    course = [point for point in points if point.at >= tempo.since] if 0 < tempo.since <= mono else points
    slow = slowdown(course, mono)
    if slow is None and tempo.slow is not None and not has_recovered(course, mono, tempo.slow):
        slow = tempo.slow
    if slow is None or slow.from_rate <= 0:
        tempo.slow = None
        return None
    tempo.slow = slow
    since = at - (mono - slow.since)
    return (
        since,
        f"since {moment(since)} it does about {tens(1 - slow.to_rate / slow.from_rate)} % less than at its peak",
    )


def tens(share: float) -> int:
    """A share in steps of ten per cent, so that a text stays the same while a rate trembles."""
    return round(10 * share) * 10
