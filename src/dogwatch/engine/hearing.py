"""Hearing: what a job's logs say about how it may end, kept while it runs; and the diagnosis once it has ended badly.

Nothing is read again at the end: the lines that tell are kept as they come by, so a log that is gone with its
node has still been heard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.causes import Evidence, Gather, Log, judge
from dogwatch.causes.document import document
from dogwatch.engine.memory import Memory
from dogwatch.engine.witnesses import witnesses
from dogwatch.model import Ended, Gpu, Known, Outcome, Worker
from dogwatch.rules.interface import Disk

MOST_HEARD = 64  # logs of one job; the ranks beyond them say what the others say


class Hearing:
    """The listeners of one job's logs; each can be rebuilt from the job's memory."""

    def __init__(self) -> None:
        self._of: dict[str, Gather] = {}

    def hear(self, log: str, text: bytes, start: int, skipped: bool, memory: Memory) -> None:
        """Take in the next bytes of a log; after a gap nobody knows the numbers of its lines."""
        first = None if skipped else 1 if start == 0 else None
        gather = self._of.get(log)
        if gather is None:
            if len(self._of) >= MOST_HEARD:
                return
            saved = memory.heard.get(log)
            gather = self._of[log] = Gather.restore(saved) if saved else Gather(first)
        if text and (skipped or start == 0):
            gather.turn(first)
        if text:
            gather.feed(text)

    def begin_attempt(self, log: str | None = None) -> None:
        """What was heard so far, of one log or of all, was said by an attempt that is over, or by others."""
        for name, gather in self._of.items():
            if log is None or name == log:
                gather.begin_attempt()

    def keep(self, memory: Memory) -> None:
        """Put into the memory what it takes to go on, of the logs that are still there."""
        wanted = {cursor.get("part_of", path) for path, cursor in memory.logs.items()}
        self._of = {log: gather for log, gather in self._of.items() if log in wanted}
        memory.heard = {log: gather.state() for log, gather in self._of.items()}

    def diagnosis(
        self, known: Known, disks: Mapping[str, Disk], gpus: Sequence[Gpu] = (), slurm_id: str = ""
    ) -> dict[str, Any] | None:
        """Why the attempt ended as it did; None while it runs and when nothing shows that it failed. Of one whose exit
        status is a success, only what its logs show by themselves."""
        ended = known.state
        if not isinstance(ended, Ended):
            return None
        if ended.outcome is Outcome.SUCCEEDED:
            ended = Ended(Outcome.UNKNOWN)
        return self._judged(sorted(self._of.items()), ended, known.reason, disks, gpus, slurm_id)

    def of_worker(self, worker: Worker) -> dict[str, Any] | None:
        """Why one worker ended, by its own logs."""
        own = {worker.log, *worker.logs}
        logs = sorted((log, gather) for log, gather in self._of.items() if log in own)
        ended = Ended(Outcome(worker.outcome or Outcome.UNKNOWN), worker.exit_code, worker.signal)
        return self._judged(logs, ended, worker.reason, {})

    def _judged(
        self,
        logs: list[tuple[str, Gather]],
        ended: Ended,
        reason: str,
        disks: Mapping[str, Disk],
        gpus: Sequence[Gpu] = (),
        slurm_id: str = "",
    ) -> dict[str, Any] | None:
        unknown = ended.outcome is Outcome.UNKNOWN
        told = "" if unknown or ended.outcome is Outcome.FAILED else ended.outcome.value
        evidence = Evidence(
            logs=tuple(Log(name, ()) for name, _ in logs),
            exit_code=ended.exit_code,
            signal=ended.signal,
            state=told if slurm_id else "",
            reason=reason,
            succeeded=None if unknown else False,
            oom_kills=1 if ended.outcome is Outcome.OUT_OF_MEMORY else 0,
            free_bytes=min((disk.free for disk in disks.values()), default=None),
            free_inodes=min((disk.inodes_free for disk in disks.values() if disk.inodes), default=None),
            witnesses=witnesses(disks, gpus),
            slurm_id=slurm_id,
        )
        found = judge(evidence, [gather.notes() for _, gather in logs])
        return None if found is None else document(found)
