"""One of N workers is no longer there, or no longer able to work, while the job goes on."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Outcome, Running, Worker
from dogwatch.rules.interface import Case, Rule

name = "worker_gone"
OVER = ("gone", "zombie")
WORKING = ("running", "sleeping", "uninterruptible")


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not isinstance(case.known.state, Running):
        return
    for worker in case.workers:
        told = _tell(case, worker)
        if told is not None:
            level, text = told
            text += _why(case, worker)
            yield Finding(case.job.ref, name, level, text, f"worker {worker.index}", lasting=worker.doing == "gone")


def gone(case: Case, what: str) -> Closing:
    """When that worker was seen at work again; one that cannot be seen is not."""
    doing = next((worker.doing for worker in case.workers if f"worker {worker.index}" == what), "hidden")
    if doing in ("gone", "zombie"):
        return Closing.ENDED_WITH_WORKER
    return Closing.RESOLVED if doing in WORKING else Closing.OPEN


def _why(case: Case, worker: Worker) -> str:
    """The likeliest cause of a worker that ended in the first minute, where its own logs did not tell."""
    lost = case.lost_at_launch
    if lost is None or lost.worker != worker.index or not lost.why or "likely" in worker.reason:
        return ""
    return f"; {lost.why}"


def _others(case: Case, worker: Worker) -> str:
    """That the job goes on without it: how many other workers do."""
    count = sum(one.doing in WORKING for one in case.workers if one is not worker)
    return f"; {count} other worker{'' if count == 1 else 's'} still running" if count else ""


def _tell(case: Case, worker: Worker) -> tuple[Level, str] | None:
    """How bad it is that a worker is not at work, and how that came. One that vanished after its share was done has
    most likely finished, and is no news; one that left it undone crashed or was killed."""
    who = f"worker {worker.index}" + (f" (pid {worker.pid})" if worker.pid else "")
    if worker.doing == "stopped":
        return Level.WARNING, f"{who} is stopped (SIGSTOP); continue it: kill -CONT {worker.pid}"
    if worker.doing not in OVER or worker.outcome == Outcome.SUCCEEDED:
        return None
    if worker.outcome is None:
        return Level.WARNING, f"{who} exited; exit code not recorded yet"
    unknown = worker.outcome == Outcome.UNKNOWN
    if unknown and worker.short is False:
        return None
    how = "crashed" if worker.outcome == Outcome.FAILED else "exited"
    after = "" if worker.started is None or worker.ended is None else f" after {_span(worker.ended - worker.started)}"
    level = Level.WARNING if unknown and not worker.short else Level.CRITICAL
    return level, f"{who} {how}{after}{_others(case, worker)}: {worker.reason}"


def _span(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="workers", gone=gone)
