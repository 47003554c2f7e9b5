"""Slow-down: whether a job has become slow for good, and whether one of its workers falls behind the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dogwatch.estimate.silence_limit import STEADY, silence_limit
from dogwatch.estimate.slowdown import straggler
from dogwatch.estimate.stall import moment
from dogwatch.model import Job, Point, Step, Straggler, Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.tempo import tens

EVERY, SHARE = 30.0, 0.005  # seconds between two judgements of a job, which walk its whole history; or of its age
OVER = frozenset({"gone", "zombie"})
STANDS_MOVES = 8  # moves of the others that a worker must have let pass before it is said to stand


def due(memory: Memory, last: float, mono: float) -> bool:
    """Whether a job's tempo is to be judged again."""
    return not 0 <= mono - last < max(EVERY, SHARE * memory.age)


def compared(memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker]) -> frozenset[str]:
    """The workers whose pace can be held against that of another."""
    found = frozenset(_series(memory, steps, workers))
    return found if len(found) > 1 else frozenset()


def _series(memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker]) -> dict[str, list[Point]]:
    over = {str(worker.index) for worker in workers if worker.doing in OVER}
    alike = equals({worker: step for worker, step in steps.items() if worker not in over})
    series = {worker: [Point(*pair) for pair in memory.workers.points.get(worker, ())] for worker in alike}
    return {worker: points for worker, points in series.items() if points}


def count_over(steps: Mapping[str, Step], workers: Sequence[Worker]) -> int:
    """How many workers are gone, or have done what they had to do."""
    over = {str(worker.index) for worker in workers if worker.doing in OVER}
    return len(over | {worker for worker, step in steps.items() if step.total and step.done >= step.total})


def behind(
    job: Job, memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker], mono: float, at: float
) -> Straggler | None:
    """The worker that falls behind its equals, or stands while they go on."""
    series = _series(memory, steps, workers)
    if len(series) < 2:
        return None
    stands = _stands(series, silence_limit(memory.silence.gaps, STEADY, job.expect.stall_timeout))
    if stands is not None:
        worker, since = stands
        since = at - (mono - since)
        why = f"has made no progress since {moment(since)} while the other workers do"
        return Straggler(worker, since, why, stands=True)
    found = straggler(series, mono)
    if found is None or found.others <= 0:
        return None
    since = at - (mono - found.since)
    less = tens(1 - found.rate / found.others)
    return Straggler(str(found.worker), since, f"does about {less} % less than the other workers since {moment(since)}")


def equals(steps: Mapping[str, Step]) -> set[str]:
    """The workers that count the same thing up to about the same total, and have not got there yet."""
    if not steps:
        return set()
    kinds = {worker: (step.unit, _rough(step.total)) for worker, step in steps.items()}
    counted = Counter(kinds.values())
    usual = max(counted, key=lambda kind: (counted[kind], repr(kind)))
    return {
        worker
        for worker, step in steps.items()
        if kinds[worker] == usual and not (step.total and step.done >= step.total)
    }


@lru_cache(maxsize=256)
def _rough(total: float | None) -> float | None:
    return None if total is None else float(f"{total:.1g}")


def _stands(series: Mapping[str, Sequence[Point]], allowed: float) -> tuple[str, float] | None:
    """The worker that has let the others move many times, for longer than the job's silence limit, and since when."""
    last = {worker: points[-1].at for worker, points in series.items()}
    worker = min(last, key=last.__getitem__)
    later = [sum(point.at > last[worker] for point in points) for other, points in series.items() if other != worker]
    newest = max(last.values())
    stood = newest - last[worker] >= allowed and min(later) >= STANDS_MOVES
    return (worker, last[worker]) if stood else None
