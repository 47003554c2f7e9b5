"""Facts: what a place says of a job beside its state. They are the same for every source; one that knows less leaves
fields empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dogwatch.model.stages import BoxFacts, Stage


@dataclass(frozen=True, slots=True)
class Task:
    """A task of an array, or a part of a heterogeneous job (its id begins with a plus)."""

    id: str
    state: str
    outcome: str | None = None
    native: str = ""
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tasks:
    """How many tasks a job has, how many of them are in each state, and some of them, the odd ones first."""

    count: int = 0
    states: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[Task, ...] = ()

    @property
    def is_array(self) -> bool:
        """Whether they are tasks of an array, and not the parts of one piece of work."""
        return bool(self.rows) and not self.rows[0].id.startswith("+")


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What an ended job used of what it had asked for; of an array time and memory of the worst task."""

    wall_seconds: float | None = None
    limit_seconds: float | None = None
    wall_percent: float | None = None
    cpu_percent: float | None = None
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    memory_requested_bytes: int | None = None
    memory_percent: float | None = None
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    gpus: int | None = None
    gpu_seconds: float | None = None
    exceeded: bool = False
    ask_for_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CancelledBy:
    """Who cancelled a job; `is_owner` is None where nobody can say."""

    name: str
    is_owner: bool | None


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run of a job that was put back in the queue: when, where, and how it ended."""

    began: float
    ended: float
    nodes: str
    how: str


@dataclass(frozen=True, slots=True)
class GpuFigures:
    """The GPUs of a job as a file beside it shows them: their mean use, and their memory together."""

    gpu_percent: float | None = None
    gpu_memory_used_bytes: int | None = None
    gpu_memory_total_bytes: int | None = None
    gpus: int = 1


@dataclass(frozen=True, slots=True)
class GpuSummary:
    """What was seen of such figures so far: in how many polls, the mean use, the most memory."""

    polls: int = 0
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """See the module. `limit_seconds` is its time limit; `never_starts` and `held` say why a waiting job will not start
    by itself; `contradiction` is what speaks against its outcome; `logs` are the globs of its logs, and `log_starts`
    the offsets from which on this attempt wrote them. A run of several `stages` has the log of the current one here."""

    time_limit_at: float | None = None
    expected_start: float | None = None
    limit_seconds: float | None = None
    nodes: str = ""
    partition: str = ""
    workdir: str = ""
    name: str = ""
    user: str = ""
    never_starts: str = ""
    held: str = ""
    stdout: str = ""
    stderr: str = ""
    logs: tuple[str, ...] = ()
    started_at: float | None = None
    cancelled_by: CancelledBy | None = None
    tasks: Tasks | None = None
    runs: tuple[EarlierRun, ...] = ()
    contradiction: str = ""
    efficiency: Efficiency | None = None
    stages: tuple[Stage, ...] = ()
    box: BoxFacts | None = None
    log_starts: Mapping[str, int] = field(default_factory=dict)

    def after(self, before: Facts) -> Facts:
        """These facts, with what only some polls say taken from those `before`."""
        kept = {name: old for name in _KEPT if not getattr(self, name) and (old := getattr(before, name))}
        return replace(self, **kept) if kept else self

    def of_next_attempt(self) -> Facts:
        """Without what only the end of an attempt shows."""
        return replace(self, contradiction="") if self.contradiction else self


_KEPT = ("stdout", "stderr", "logs", "cancelled_by", "tasks", "runs", "contradiction", "efficiency", "stages", "box")


@dataclass(frozen=True, slots=True)
class RareFacts:
    """What is asked once or seldom. None is what this poll did not ask, or got no answer to; without any log that a
    job's script names, `script_logs` is empty. `real` is where the folders of its files were at first sight."""

    real: Mapping[str, str] | None = None
    script_logs: tuple[str, ...] | None = None
    gpu: GpuFigures | None = None
    gpu_summary: GpuSummary | None = None
