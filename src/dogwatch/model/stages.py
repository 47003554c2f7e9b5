"""Stages: the parts of a run that come one after another, and what was seen of a machine that a run has to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dogwatch.model.decision import Decision

WAITING, RUNNING, DONE, FAILED, SKIPPED, UNKNOWN = "waiting", "running", "done", "failed", "skipped", "unknown"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. Its times are by the clock of the machine that it runs on; `waits_for` is what it waits for now."""

    name: str
    state: str
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    attempt: int | None = None
    log: str | None = None
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class BoxFacts:
    """What a poll saw of a run and the machine that it has to itself. `alive` says what shows that it runs; times are
    by the clock of that machine, and `wall` is that clock. `lost` says why what answers is another machine; `restart`
    why the processes of an earlier attempt are gone. `kills` counts what the kernel killed in its memory cgroup since
    it was first seen; `idle_session` is a session in which nothing runs any more; `decisions` are the rows of the
    decision table that hold."""

    kind: str
    wall: float = 0.0
    machine: str | None = None
    boot: str | None = None
    directory: str | None = None
    session: str | None = None
    alive: tuple[str, ...] = ()
    lost: str = ""
    restart: str = ""
    supervisor: bool | None = None
    idle_session: bool = False
    heartbeat_at: float | None = None
    last_line: str = ""
    pushed: str = ""
    resume: str = ""
    resumes_itself: bool = False
    memory_used: int | None = None
    memory_limit: int | None = None
    kills: int = 0
    cpus: float | None = None
    quota: float | None = None
    threads: int | None = None
    threads_running: int | None = None
    load: float | None = None
    results: int | None = None
    results_bytes: int | None = None
    results_expected: int | None = None
    results_capped: bool = False
    results_newest: str | None = None
    results_text: str = ""
    unread: str = ""
    decisions: tuple[Decision, ...] = ()


def current(stages: Sequence[Stage]) -> int | None:
    """The index of the stage that a run is at: the one that runs, failed or waits, else the last."""
    for states in ((RUNNING,), (FAILED, UNKNOWN), (WAITING,)):
        for index, stage in enumerate(stages):
            if stage.state in states:
                return index
    return len(stages) - 1 if stages else None


def position(stages: Sequence[Stage]) -> str:
    """`stage eval (2 of 3)`; nothing without stages."""
    at = current(stages)
    return "" if at is None else f"stage {stages[at].name} ({at + 1} of {len(stages)})"
