"""One of N workers is no longer there, or no longer able to work, while the job goes on."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Outcome, Running, Worker
from dogwatch.rules.interface import Case

name = "worker_gone"
states, needs = (Running,), "workers"


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not isinstance(case.known.state, Running):
        return
    for worker in case.workers:
        told = _tell(worker)
        if told is not None:
            level, text = told
            text += _why(case, worker)
            yield Finding(case.job.ref, name, level, text, f"worker {worker.index}", lasting=worker.doing == "gone")


def _why(case: Case, worker: Worker) -> str:
    """The likeliest cause of a worker that ended in the first minute, whose own log was asked."""
    launch = case.launch
    if launch is None or launch.get("worker") != worker.index or not launch.get("why"):
        return ""
    return f"; {launch['why']}"


def _tell(worker: Worker) -> tuple[Level, str] | None:
    who = f"worker {worker.index}" + (f" (pid {worker.pid})" if worker.pid else "")
    if worker.doing == "stopped":
        return (
            Level.WARNING,
            f"{who} is stopped: it will not work until somebody continues it (kill -CONT {worker.pid})",
        )
    if worker.doing not in ("gone", "zombie") or worker.outcome == Outcome.SUCCEEDED:
        return None
    if worker.outcome is None:
        return Level.WARNING, f"{who} is gone; how it ended is not recorded yet"
    level = Level.WARNING if worker.outcome == Outcome.UNKNOWN else Level.CRITICAL
    return level, f"{who} is gone while others go on: {worker.reason}"
