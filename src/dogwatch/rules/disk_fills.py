"""A filesystem the job writes to will be full before the job is done, at the pace of the last while."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import lasting

name = "disk_fills"

AHEAD = 6 * 3600.0  # how far to look where nobody knows when the job is done
WORDS = {"quota": "quota (bytes)", "files": "quota (files)"}
SURE = 0.8  # of the time still to go: a disk that lasts longer than that may last


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not isinstance(case.known.state, Running):
        return
    to_go = case.eta.remaining if case.eta is not None else AHEAD
    for (mount, what), seconds in case.gone_in.items():
        if seconds < SURE * to_go:
            before = f", about {lasting(to_go - seconds)} before the job is done" if case.eta is not None else ""
            path = case.disks[mount].path if mount in case.disks else mount
            text = f"the disk of {path} will have no {WORDS.get(what, what)} left in about {lasting(seconds)}{before}"
            yield Finding(case.job.ref, name, Level.WARNING, text, f"{mount} {what}")


def gone(case: Case, what: str) -> Closing:
    read = any(what.startswith(f"{mount} ") for mount in case.disks)
    return Closing.RESOLVED if read else Closing.OPEN


PLUGIN = Rule(
    name,
    judge=judge,
    states=(Running,),
    needs="gone_in",
    gone=gone,
    gives_way_to=("disk_low",),
    spans_attempts=True,
)
