"""Evidence in logs: what a job's logs say about how it may end, collected while it runs, and the diagnosis once it has
ended badly.

Nothing is read again at the end: telling lines are kept when they are read, so the diagnosis does not need a log that
is lost together with its node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dogwatch.diagnosis import Evidence, LineCollector, Log, judge
from dogwatch.diagnosis.document import document
from dogwatch.model import Ended, Gpu, Known, Outcome, Worker
from dogwatch.rules.interface import Disk
from dogwatch.watcher.job.ending_evidence import ending_evidence
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.log import LogState, names

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

MOST_HEARD = 64  # logs of one job; the ranks beyond them say what the others say


class LogEvidence:
    """The line collectors of one job's logs. They go on from what another watcher `saved`, whether or not the logs have
    grown since: a traceback may be read by one patrol, and the exit seen by the next."""

    def __init__(self, saved: LogState | None = None) -> None:
        self._saved = saved
        self._restored: dict[str, LineCollector] = {}

    @property
    def _of(self) -> dict[str, LineCollector]:
        """By log; restored when first asked for, since most jobs of a place stand still."""
        if self._saved is not None:
            saved, self._saved = self._saved, None
            self._restored = {log: LineCollector.restore(state) for log, state in saved.gathered.items()}
        return self._restored

    def hear(self, log: str, text: bytes, start: int, skipped: bool) -> None:
        """Take in the next bytes of a log; after a gap nobody knows the numbers of its lines."""
        first = None if skipped else 1 if start == 0 else None
        collector = self._of.get(log)
        if collector is None:
            if len(self._of) >= MOST_HEARD:
                return
            collector = self._of[log] = LineCollector(first)
        if text and (skipped or start == 0):
            collector.continue_elsewhere(first)
        if text:
            collector.feed(text)

    def begin_attempt(self, log: str | None = None) -> None:
        """What was heard so far, of one log or of all, was said by an attempt that is over, or by others."""
        for name, collector in self._of.items():
            if log is None or name == log:
                collector.begin_attempt()

    def keep(self, memory: Memory) -> None:
        """Put into the memory what it takes to go on, of the logs that are still there."""
        wanted = names(memory.log)
        self._restored = {log: collector for log, collector in self._of.items() if log in wanted}
        memory.log.gathered = {log: collector.state() for log, collector in self._of.items()}

    def diagnosis(
        self, known: Known, disks: Mapping[str, Disk], gpus: Sequence[Gpu] = (), command_id: str = ""
    ) -> DiagnosisDocument | None:
        """Why the attempt ended as it did; None while it runs and when there is no sign of a failure. Of one whose exit
        status is a success, only what its logs show by themselves."""
        ended = known.state
        if not isinstance(ended, Ended):
            return None
        if ended.outcome is Outcome.SUCCEEDED:
            ended = Ended(Outcome.UNKNOWN)
        return self._judged(sorted(self._of.items()), ended, known.reason, disks, gpus, command_id)

    def of_worker(self, worker: Worker) -> DiagnosisDocument | None:
        """Why one worker ended, by its own logs."""
        own = {worker.log, *worker.logs}
        logs = sorted((log, collector) for log, collector in self._of.items() if log in own)
        ended = Ended(Outcome(worker.outcome or Outcome.UNKNOWN), worker.exit_code, worker.signal)
        return self._judged(logs, ended, worker.reason, {})

    def _judged(
        self,
        logs: list[tuple[str, LineCollector]],
        ended: Ended,
        reason: str,
        disks: Mapping[str, Disk],
        gpus: Sequence[Gpu] = (),
        command_id: str = "",
    ) -> DiagnosisDocument | None:
        unknown = ended.outcome is Outcome.UNKNOWN
        told = "" if unknown or ended.outcome is Outcome.FAILED else ended.outcome.value
        evidence = Evidence(
            logs=tuple(Log(name, ()) for name, _ in logs),
            exit_code=ended.exit_code,
            signal=ended.signal,
            state=told if command_id else "",
            reason=reason,
            succeeded=None if unknown else False,
            oom_kills=1 if ended.outcome is Outcome.OUT_OF_MEMORY else 0,
            free_bytes=min((disk.free for disk in disks.values()), default=None),
            free_inodes=min((disk.inodes_free for disk in disks.values() if disk.inodes), default=None),
            evidence=ending_evidence(disks, gpus),
            command_id=command_id,
        )
        found = judge(evidence, [collector.collected() for _, collector in logs])
        return None if found is None else document(found)
