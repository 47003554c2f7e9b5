"""The ETA of a job: its history as the estimate needs it, and when the estimate is made again."""

from __future__ import annotations

import math

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.several_workers import Worker, last_of
from dogwatch.estimate.totals import expected
from dogwatch.model import Eta, Job, Point, Progress, Step
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import worker_of
from dogwatch.watcher.job.worker_logs import listed_logs

SHARE, LONGEST = 0.02, 30.0  # of the time left, and seconds, after which an estimate is made anew


def outlook(memory: Memory, progress: Progress, mono: float, job: Job) -> Eta | None:
    """When the job will be done; of several workers with totals of their own, when the last of them will."""
    history: list[tuple[float, float | None]] = [(done, total) for done, total in memory.progress.totals]
    total = expected([*history, (progress.step, progress.total)])
    whole = estimate(memory.progress.points, total, mono, memory.progress.earlier)
    return last_of(whole, _workers(memory, job), mono) if len(memory.workers.points) > 1 else whole


def good_for(found: Eta | None, *, stands: bool) -> float:
    """Seconds for which an estimate is good, since making one walks the whole history: until it could have changed by a
    visible part. Where there was none, a counter that `stands` gives none: time alone does not."""
    if found is None:
        return math.inf if stands else 0.0
    return min(LONGEST, SHARE * found.remaining)


def _workers(memory: Memory, job: Job) -> list[Worker]:
    """Those that count in one log only, up to a total that it states."""
    listed = listed_logs(job)
    logs: dict[str, list[Step]] = {}
    for path, step in memory.progress.steps.items():
        logs.setdefault(str(worker_of(path, listed)), []).append(step)
    counting = []
    for worker, points in memory.workers.points.items():
        steps = logs.get(worker, [])
        if len(steps) == 1 and steps[0].total:
            counting.append(Worker([Point(at, done) for at, done in points], steps[0].total))
    return counting
