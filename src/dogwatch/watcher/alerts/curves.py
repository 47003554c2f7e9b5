"""Curves: how the jobs of a message went until something was said of them, for channels that take a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dogwatch.errors import StoreError
from dogwatch.model import Curve, Level
from dogwatch.model.message import RANK
from dogwatch.redaction import redacted
from dogwatch.store.interface import Store
from dogwatch.store.rows import readings as reading_rows
from dogwatch.store.rows.notifications import NotificationRow

JOBS_MOST = 2
SHOWN = {"loss": "loss", "rate": "rate per second", "gpu_used": "GPU use", "rss": "memory in bytes"}


def curves(
    store: Store, notifications: Sequence[NotificationRow], names: Mapping[str, str], upto: float
) -> list[Curve]:
    """Of the jobs that are worst off, up to a time, so that every try of a message has the same. A store that cannot
    be read now costs the picture and not the alert."""
    ordered = sorted(notifications, key=lambda notification: -RANK[Level(notification.level)])
    refs = [ref for ref in dict.fromkeys(notification.subject for notification in ordered) if ref in names][:JOBS_MOST]
    try:
        return [curve for ref in refs for curve in _of_job(store, ref, redacted(names[ref]), upto, len(refs))]
    except StoreError:
        return []


def _of_job(store: Store, ref: str, name: str, upto: float, jobs: int) -> Iterator[Curve]:
    """Its progress, and what else fits when the picture is shared by so many jobs."""
    total, readings = reading_rows.curve_of(store, ref, upto)
    yield Curve(name, "step" if total is None else f"step of {total:g}", _points(readings, "step"), total)
    others = (Curve(name, what, _points(readings, key)) for key, what in SHOWN.items())
    yield from [curve for curve in others if curve.points][: 1 if jobs > 1 else None]


def _points(readings: Sequence[tuple[float, Mapping[str, float]]], key: str) -> tuple[tuple[float, float], ...]:
    return tuple((at, float(body[key])) for at, body in readings if isinstance(body.get(key), int | float))
