"""The memory a job may use is nearly full, or will be before the job is done, at the pace of the last while."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Held, Rule
from dogwatch.text import lasting

name = "memory_fills"

AHEAD = 6 * 3600.0  # how far to look where nobody knows when the job is done
SURE = 0.8  # of the time still to go: memory that lasts longer than that may last
FULL = 0.95  # of the limit
ROUGH = " (as {} counts it, including mapped files, which can be freed)"
REMEDY = "ask for more memory, or use fewer data-loading workers and a smaller prefetch"


def judge(case: Case, now: float) -> Iterator[Finding]:
    held = case.held
    if held is None or not isinstance(case.known.state, Running):
        return
    if held.used >= FULL * held.limit and not (held.machine or held.counter):
        text = f"{_of(held)} is {100 * held.used / held.limit:.0f} % full ({_sizes(held)}): {REMEDY}"
        yield Finding(case.job.ref, name, Level.WARNING, text, "now")
        return
    # An array is done when its last task is, which says nothing of this one.
    eta = case.eta if not held.piece or held.piece.startswith("+") else None
    to_go = min(eta.remaining if eta is not None else AHEAD, _left(case, held, now))
    if held.full_in is not None and held.full_in < SURE * to_go:
        ends = f"about {lasting(to_go - held.full_in)} before the job is done" if eta else "at the current rate"
        text = f"{_of(held)} ({_sizes(held)}) will be full in about {lasting(held.full_in)}, {ends}: {REMEDY}"
        text += ROUGH.format(held.counter) if held.rough else ""
        yield Finding(case.job.ref, name, Level.INFO if held.rough else Level.WARNING, text, "ahead")


def _left(case: Case, held: Held, now: float) -> float:
    """Seconds until its scheduler would end it."""
    if held.piece:
        return math.inf if held.left is None else held.left
    limit = case.facts.time_limit_at
    return math.inf if limit is None else max(0.0, limit - now)


def _of(held: Held) -> str:
    if held.machine:
        return "the memory of the machine"
    part = held.piece.lstrip("+")
    who = "the job" if not part else f"part {part} of the job" if part != held.piece else f"task {part}"
    return f"the memory that {who} may use"


def _sizes(held: Held) -> str:
    return f"{held.used / 1e9:.1f} of {held.limit / 1e9:.1f} GB"


PLUGIN = Rule(
    name,
    judge=judge,
    states=(Running,),
    needs="held",
    gives_way_to=("memory_fills",),  # what will be full is full
)
