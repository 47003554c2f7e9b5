"""Why a running job has no estimate: what cannot finish, or does not move, is not said to be done at some time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from dogwatch.estimate.silence_limit import SAFETY
from dogwatch.estimate.stall import COUNTER_MOVES, stands_too_long
from dogwatch.model import Eta, Job, Outcome, Progress, StallState, Step, Straggler, Verdict, Worker
from dogwatch.text import is_suspended
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import worker_of
from dogwatch.watcher.job.stall import LIVING
from dogwatch.watcher.job.worker_logs import listed_logs

OVER = frozenset({"gone", "zombie"})
COMPLETE = 0.999  # of its own total: rounding, or a last line that was never flushed
MOST_NAMED = 3
UNFAILED = frozenset({None, Outcome.SUCCEEDED, Outcome.UNKNOWN})
NEWEST = 5  # moves of a worker that show how it counts


def reason(
    memory: Memory,
    job: Job,
    native: str,
    workers: Sequence[Worker],
    progress: Progress | None,
    eta: Eta | None,
    verdict: Verdict | None,
    straggler: Straggler | None,
    mono: float,
) -> str:
    """In words, why no estimate is shown of a running job; nothing where the estimate holds."""
    return (
        _exited(memory, job, workers, progress)
        or _held(native, workers)
        or _stands(memory, verdict)
        or _one_stands(memory, job, workers, verdict, straggler, mono)
        or ("" if eta is not None else _unknown(progress))
    )


def _exited(memory: Memory, job: Job, workers: Sequence[Worker], progress: Progress | None) -> str:
    """Workers that left before their share was done. Where each counts up to a total of its own the shares are fixed,
    and nobody does what is left of one; where none does, the others may take it over."""
    over = [worker for worker in workers if worker.doing in OVER]
    if not over or len(workers) < 2:
        return ""
    shares, fixed, short = own_counters(memory, job), [], []
    for worker in over:
        step = own_share(shares, worker, progress)
        if step is not None and step.total:
            if not is_share_done(memory, worker, step.done, step.total):
                fixed.append(worker.index)
        elif worker.outcome != Outcome.SUCCEEDED:
            short.append(worker.index)
    if fixed:
        return f"cannot finish: {_named(fixed)} exited"
    return f"may not finish: {_named(short)} exited" if short else ""


def own_share(shares: Mapping[str, Step], worker: Worker, progress: Progress | None) -> Step | None:
    """The counter of a worker that counts up to a total of its own."""
    step = shares.get(str(worker.index))
    return step if step is not None and step.total and not _is_whole(step, progress) else None


def is_share_done(memory: Memory, worker: Worker, done: float, total: float) -> bool:
    """Whether a worker that left had done its share. One that did not fail need not have told of its last items: what
    it usually does between two polls may be missing."""
    if worker.outcome not in UNFAILED:
        return done >= total
    if worker.outcome == Outcome.SUCCEEDED and memory.log.may_stop:
        return True
    newest = memory.workers.points.get(str(worker.index), [])[-NEWEST:]
    usual = max((later[1] - earlier[1] for earlier, later in pairwise(newest)), default=0.0)
    return done + max(usual, (1 - COMPLETE) * total) >= total


def _is_whole(step: Step, progress: Progress | None) -> bool:
    """Whether a worker's counter is the whole job's: several take their items from one queue."""
    return progress is not None and progress.total is not None and (step.total or 0.0) >= progress.total


def own_counters(memory: Memory, job: Job) -> dict[str, Step]:
    """The counter of each worker, by the log that has come furthest where it has several."""
    listed = listed_logs(job)
    counters: dict[str, Step] = {}
    for path, step in memory.progress.steps.items():
        index = worker_of(path, listed)
        if index is not None:
            known = counters.get(str(index))
            if known is None or (bool(step.total), step.done) > (bool(known.total), known.done):
                counters[str(index)] = step
    return counters


def _named(indexes: Sequence[int]) -> str:
    if len(indexes) > MOST_NAMED:
        return f"{len(indexes)} workers"
    if len(indexes) == 1:
        return f"worker {indexes[0]}"
    return f"workers {', '.join(map(str, indexes[:-1]))} and {indexes[-1]}"


def _held(native: str, workers: Sequence[Worker]) -> str:
    """Somebody stopped its processes, or some of them."""
    living = [worker for worker in workers if worker.doing in LIVING]
    stopped = [worker.index for worker in living if worker.doing == "stopped"]
    if is_suspended(native) or (stopped and len(stopped) == len(living)):
        return "suspended"
    return f"{_named(stopped)} stopped" if stopped else ""


def _one_stands(
    memory: Memory,
    job: Job,
    workers: Sequence[Worker],
    verdict: Verdict | None,
    straggler: Straggler | None,
    mono: float,
) -> str:
    """A worker that has not moved for longer than the silence limit and has its own share to do still: others that go
    on, or are done, do not do it."""
    if straggler is not None and straggler.stands:
        return f"worker {straggler.worker} stalled"
    if verdict is None or verdict.silence_limit is None or len(workers) < 2:
        return ""
    shares, hung = own_counters(memory, job), []
    for worker in workers:
        step, points = shares.get(str(worker.index)), memory.workers.points.get(str(worker.index), [])
        if step is None or not step.total or step.done >= step.total or len(points) < NEWEST:
            continue
        stood = mono - points[-1][0]
        if worker.doing not in LIVING or stood < verdict.silence_limit:
            continue
        if stood >= SAFETY * max(later[0] - earlier[0] for earlier, later in pairwise(points)):
            hung.append(worker.index)
    return f"{_named(hung)} stalled" if hung else ""


def _stands(memory: Memory, verdict: Verdict | None) -> str:
    if verdict is not None and verdict.word is StallState.STALLED:
        return "stalled"
    if verdict is None or verdict.silence_limit is None or "progress" not in memory.silence.clocks:
        return ""
    busy = verdict.word is StallState.SILENT_BUT_BUSY
    known = memory.silence.counter.count >= COUNTER_MOVES
    quiet = memory.silence.clocks["progress"].seconds
    if busy or (known and stands_too_long(quiet, memory.silence.counter, verdict.silence_limit)):
        return "no progress"
    return ""


def _unknown(progress: Progress | None) -> str:
    if progress is None:
        return "no progress counted yet"
    if progress.total is None:
        return "no total known"
    if progress.is_too_much:
        return "counted more than the total"
    return "not enough progress yet" if progress.rate_average is None else "no end in sight"
