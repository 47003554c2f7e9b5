"""Workers: where the counter of each worker stands, how it came there, what it used, and how it ended."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

MOST_POINTS, MOST_WORKERS = 20, 64


class WorkerEnd(NamedTuple):
    """What the logs of a worker that ended say of it: in words, whether it left before its share was done, whether they
    show a failure, and how far the furthest of the others was when it was found gone."""

    words: str
    short: bool | None
    failed: bool
    others: float | None = None


class WorkerState(Struct, omit_defaults=True):
    """By the number of the worker: its newest step (our time, count, perhaps units a second), when its counter moved,
    its seconds of CPU at a time, and its end."""

    steps: dict[str, list[float]] = field(default_factory=dict)
    points: dict[str, list[list[float]]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    ends: dict[str, WorkerEnd] = field(default_factory=dict)

    def begin(self) -> None:
        """Another attempt has other workers."""
        self.points, self.ends = {}, {}


def keep_worker_point(workers: WorkerState, worker: str, mono: float, done: float) -> None:
    """Remember when a worker's counter moved; a few points each, thinner the older they are."""
    points = workers.points.get(worker)
    if points is None:
        if len(workers.points) >= MOST_WORKERS:
            return
        points = workers.points[worker] = []
    if points and (done < points[-1][1] or mono < points[-1][0]):
        points.clear()  # it resumed, or the machine was restarted
    if points and done == points[-1][1]:
        return
    points.append([round(mono, 2), done])
    if len(points) > MOST_POINTS:
        del points[1 : MOST_POINTS // 2 : 2]


def cpu_percent(workers: WorkerState, worker: str, cpu_seconds: float | None, mono: float) -> float | None:
    """What a worker used between this poll and the last, so the first poll shows none."""
    if cpu_seconds is None:
        return None
    before = workers.cpu.get(worker)
    workers.cpu[worker] = [mono, cpu_seconds]
    if not before or mono <= before[0] or cpu_seconds < before[1]:
        return None
    return round(100 * (cpu_seconds - before[1]) / (mono - before[0]), 1)
