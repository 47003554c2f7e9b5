"""One worker falls behind others that do the same work."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running
from dogwatch.rules.interface import Case, Rule

name = "straggler"


def judge(case: Case, now: float) -> Iterator[Finding]:
    found = case.straggler
    if found is None or not isinstance(case.known.state, Running):
        return
    who = f"worker {found.worker}"
    yield Finding(case.job.ref, name, Level.WARNING, f"{who} {found.why}", who)


def gone(case: Case, what: str) -> Closing:
    """When it keeps up with the others again; not because they have finished, or it has ended."""
    index = what.removeprefix("worker ")
    if any(str(worker.index) == index and worker.doing in ("gone", "zombie") for worker in case.workers):
        return Closing.ENDED_WITH_WORKER
    return Closing.RESOLVED if index in case.compared else Closing.OPEN


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="straggler", gone=gone)
