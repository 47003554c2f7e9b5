"""Tempo: whether a job has become slow for good, and whether one of its workers falls behind the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dogwatch.engine.memory import Memory
from dogwatch.estimate.patience import STEADY, patience
from dogwatch.estimate.slowdown import Slowdown, has_recovered, slowdown, straggler
from dogwatch.estimate.stuck import moment
from dogwatch.model import Job, Point, Step, Straggler, Worker

EVERY, SHARE = 30.0, 0.005  # seconds between two judgements of a job, which walk its whole history; or of its age
OVER = frozenset({"gone", "zombie"})
MOST_POINTS, MOST_WORKERS = 20, 64
STANDS_MOVES = 8  # moves of the others that a worker must have let pass before it is said to stand


def due(memory: Memory, last: float, mono: float) -> bool:
    """Whether a job's tempo is to be judged again."""
    return not 0 <= mono - last < max(EVERY, SHARE * memory.age)


def keep_worker_point(memory: Memory, worker: str, mono: float, done: float) -> None:
    """Remember when a worker's counter moved; a few points each, thinner the older they are."""
    points = memory.worker_points.get(worker)
    if points is None:
        if len(memory.worker_points) >= MOST_WORKERS:
            return
        points = memory.worker_points[worker] = []
    if points and (done < points[-1][1] or mono < points[-1][0]):
        points.clear()  # it resumed, or the machine was restarted
    if points and done == points[-1][1]:
        return
    points.append([round(mono, 2), done])
    if len(points) > MOST_POINTS:
        del points[1 : MOST_POINTS // 2 : 2]


def slow_since(memory: Memory, mono: float, at: float) -> tuple[float, str] | None:
    """Since when the job is slow, and how slow, in words; None when it is not. One that was called slow stays so until
    it has recovered."""
    began = memory.at_work[1] if memory.at_work else 0.0
    points = [point for point in memory.points if point.at >= began] if 0 < began <= mono else memory.points
    found = slowdown(points, mono)
    if found is None and memory.slow is not None:
        before = Slowdown(*memory.slow)
        found = before if not has_recovered(points, mono, before) else None
    if found is None or found.from_rate <= 0:
        memory.slow = None
        return None
    memory.slow = [found.since, found.from_rate, found.to_rate]
    since = at - (mono - found.since)
    less = _tens(1 - found.to_rate / found.from_rate)
    return since, f"since {moment(since)} it does about {less} % less than at its peak"


def compared(memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker]) -> frozenset[str]:
    """The workers whose pace can be held against that of another."""
    found = frozenset(_series(memory, steps, workers))
    return found if len(found) > 1 else frozenset()


def _series(memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker]) -> dict[str, list[Point]]:
    over = {str(worker.index) for worker in workers if worker.doing in OVER}
    alike = equals({worker: step for worker, step in steps.items() if worker not in over})
    series = {worker: [Point(*pair) for pair in memory.worker_points.get(worker, ())] for worker in alike}
    return {worker: points for worker, points in series.items() if points}


def note_at_work(memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker], mono: float) -> None:
    """Remember since when so many workers do the work: all together are slower when one of them is done or gone, and
    that is no slow-down."""
    over = {str(worker.index) for worker in workers if worker.doing in OVER}
    over |= {worker for worker, step in steps.items() if step.total and step.done >= step.total}
    if not memory.at_work or memory.at_work[0] != len(over):
        memory.at_work = [float(len(over)), mono if memory.at_work or over else 0.0]


def behind(
    job: Job, memory: Memory, steps: Mapping[str, Step], workers: Sequence[Worker], mono: float, at: float
) -> Straggler | None:
    """The worker that falls behind its equals, or stands while they go on."""
    series = _series(memory, steps, workers)
    if len(series) < 2:
        return None
    stands = _stands(series, patience(memory.gaps, STEADY, job.expect.stall_timeout))
    if stands is not None:
        worker, since = stands
        since = at - (mono - since)
        why = f"has stood still since {moment(since)} while the others go on"
        return Straggler(worker, since, why, stands=True)
    found = straggler(series, mono)
    if found is None or found.others <= 0:
        return None
    since = at - (mono - found.since)
    less = _tens(1 - found.rate / found.others)
    return Straggler(str(found.worker), since, f"does about {less} % less than its equals since {moment(since)}")


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
    """The worker that has let the others move many times, for longer than the job's patience, and since when."""
    last = {worker: points[-1].at for worker, points in series.items()}
    worker = min(last, key=last.__getitem__)
    later = [sum(point.at > last[worker] for point in points) for other, points in series.items() if other != worker]
    newest = max(last.values())
    stood = newest - last[worker] >= allowed and min(later) >= STANDS_MOVES
    return (worker, last[worker]) if stood else None


def _tens(share: float) -> int:
    """A share in steps of ten per cent, so that a text stays the same while a rate trembles."""
    return round(10 * share) * 10
