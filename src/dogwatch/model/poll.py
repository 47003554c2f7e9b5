"""Poll: one question to one place, which is `Answered` or `Unreachable`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dogwatch.model.facts import Facts
from dogwatch.model.state import Evidence, State


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of a job as the place showed it. `doing` is running, sleeping, stopped, zombie,
    uninterruptible, gone, hidden or waiting; the exit fields are set only where somebody recorded them. `logs` are all
    that it writes, the first being `log`; `short` is whether one that has ended left before its share was done (None:
    nobody can tell). `memory_used` of `memory_limit` is what its group holds, or (`shared`) the whole machine."""

    index: int
    doing: str
    pid: int | None = None
    gpu: str | None = None
    log: str | None = None
    started: float | None = None
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    children: int | None = None
    ended: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    outcome: str | None = None
    reason: str = ""
    logs: tuple[str, ...] = ()
    short: bool | None = None
    memory_used: int | None = None
    memory_limit: int | None = None
    memory_shared: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What one poll said of one job. `attempt` names the execution it saw, so that a restart is told from a
    change; `track` replaces the job's own when the poll learnt how to find it better. `facts` is what else the
    place said, None where it said nothing of that; not `settled` is an ending that the place may still have more to say
    about. `restarts` is how many attempts there were before this one, as far as the place counts them. `part` names
    what of its work the job is at: another part has a log and a counter of its own. Where `is_other`, the place is
    not the one that the job ran on, and what the poll says of its files is of somebody else's."""

    ref: str
    attempt: str
    state: State
    native: str = ""
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    workers: tuple[Worker, ...] = ()
    track: Mapping[str, Any] | None = None
    facts: Facts | None = None
    settled: bool = True
    restarts: int = 0
    part: str = ""
    is_other: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The place answered in full. A ref in `asked` without a observation was really not there; a ref
    in neither could not be judged by this poll and keeps what was known."""

    place: str
    at: float
    duration: float
    asked: frozenset[str]
    observations: Mapping[str, Observation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The place did not answer, or not in full: nothing was learnt about any job. `kind` tells the
    reasons apart: unreachable, auth, host_key, late, garbled, refused, or empty."""

    place: str
    at: float
    duration: float
    why: str
    kind: str = ""


Poll: TypeAlias = Answered | Unreachable
