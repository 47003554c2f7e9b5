"""Readings: which numbers of a job are due to be kept in its history."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.model import Ended
from dogwatch.store.rows.changes import Reading
from dogwatch.store.rows.readings import spacing
from dogwatch.watcher.job.watched import WatchedJob

MOST_AT_ONCE = 500  # readings in a tick; the rest wait for the next, longest first


def is_due(one: WatchedJob, mono: float) -> bool:
    """Whether it is time for a job's next reading."""
    return _waited(one, mono) >= 0


def due_readings(found: Sequence[tuple[WatchedJob, dict[str, float]]], mono: float) -> tuple[Reading, ...]:
    """The readings that are written in this tick: of jobs whose last was long enough ago, or that have ended."""
    ripe = [(one, body) for one, body in found if body and is_due(one, mono)]
    ripe.sort(key=lambda pair: (not isinstance(pair[0].known.state, Ended), -_waited(pair[0], mono)))
    for one, _ in ripe[:MOST_AT_ONCE]:
        one.kept = mono
    return tuple(Reading(one.job.ref, body) for one, body in ripe[:MOST_AT_ONCE])


def _waited(one: WatchedJob, mono: float) -> float:
    """Seconds since its next reading was due; negative when it is not yet."""
    over = isinstance(one.known.state, Ended)
    return mono - one.kept - (0.0 if over else spacing(one.memory.age))
