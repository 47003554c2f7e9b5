"""Memory: what watching a job has taught so far and the next poll needs.

It is saved in the same transaction as the events it led to, so a killed watcher starts again from
the very line and size it had taken into account.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import fields

from dogwatch.model import Facts
from dogwatch.watcher.job.artifacts import Produced
from dogwatch.watcher.job.resources import Spent
from dogwatch.watcher.job.state.attempt import Attempt
from dogwatch.watcher.job.state.disks import DiskState
from dogwatch.watcher.job.state.ending import EndingState
from dogwatch.watcher.job.state.files import FileState
from dogwatch.watcher.job.state.gpu import GpuState
from dogwatch.watcher.job.state.launch import LaunchState
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt
from dogwatch.watcher.job.state.log import LogState
from dogwatch.watcher.job.state.loss import LossState
from dogwatch.watcher.job.state.progress import ProgressState
from dogwatch.watcher.job.state.ram import RamState
from dogwatch.watcher.job.state.silence import SilenceState
from dogwatch.watcher.job.state.tempo import TempoState
from dogwatch.watcher.job.state.usage import UsageState
from dogwatch.watcher.job.state.workers import WorkerState

if TYPE_CHECKING:
    from dogwatch.store.rows.row import Json


class Memory(Struct, omit_defaults=True):
    """All states of one job, bounded whatever the job does. `age` are the seconds for which it was watched; `facts`
    what its place says of it beside its state, `learnt` what is asked less often; `part` is what of its work it is
    at."""

    age: float = 0.0
    facts: Facts = Facts()
    learnt: Learnt = NOTHING
    log: LogState = field(default_factory=LogState)
    silence: SilenceState = field(default_factory=SilenceState)
    usage: UsageState = field(default_factory=UsageState)
    progress: ProgressState = field(default_factory=ProgressState)
    workers: WorkerState = field(default_factory=WorkerState)
    tempo: TempoState = field(default_factory=TempoState)
    files: FileState = field(default_factory=FileState)
    produced: Produced = field(default_factory=Produced)
    disks: DiskState = field(default_factory=DiskState)
    gpu: GpuState = field(default_factory=GpuState)
    ram: RamState = field(default_factory=RamState)
    loss: LossState = field(default_factory=LossState)
    launch: LaunchState = field(default_factory=LaunchState)
    attempts: list[Attempt] = field(default_factory=list)
    ending: EndingState = field(default_factory=EndingState)
    spent: Spent = field(default_factory=Spent)
    part: str = ""

    def begin_part(self, at: float) -> None:
        """Another part of the work begins, with a log, a counter and a pace of its own."""
        named = self.facts.logs
        self.log = LogState(
            cursors={path: cursor for path, cursor in self.log.cursors.items() if not named or path in named},
            errors=self.log.errors,
        )
        self.silence, self.progress = SilenceState(), ProgressState()
        self.silence.begin(at)
        self.usage.end_silence()
        self.workers.begin()
        self.tempo, self.loss = TempoState(), LossState()

    def begin(self, at: float) -> None:
        """Another attempt begins, or the first: what only the one before can have shown is forgotten."""
        self.silence.begin(at)
        self.usage.end_silence()
        self.workers.begin()
        self.tempo, self.gpu, self.ram, self.loss = TempoState(), GpuState(), RamState(), LossState()
        self.launch, self.ending = LaunchState(), EndingState()
        self.log.may_stop = False
        self.facts, self.learnt = self.facts.of_next_attempt(), replace(self.learnt, integrity=None)

    def to_json(self) -> Json:
        """As plain JSON values, without what is as it was at first."""
        body = to_builtins(self)
        for part in ("facts", "learnt"):
            if part in body:
                body[part] = {key: value for key, value in body[part].items() if value is not None and value != ""}
        return body

    @classmethod
    def from_json(cls, body: Json) -> Memory:
        """A memory of an older release lacks what it did not know; one of a newer has more: both open. A state that
        cannot be read begins anew, and the others stay."""
        try:
            return convert(body, cls)
        except ValidationError:
            return cls(**dict(_readable(body)))


def _readable(body: Json) -> Iterator[tuple[str, Any]]:
    for each in fields(Memory):
        with contextlib.suppress(ValidationError, KeyError):
            yield each.name, convert(body[each.name], each.type)
