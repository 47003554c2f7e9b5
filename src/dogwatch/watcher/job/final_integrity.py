"""Final integrity: whether the files that a job left are intact, checked once after its end, on its own host.

It is asked in the follow-up of the poll that found the ending, with limits of its own on seconds and bytes. Without an
answer it is asked again at the next polls, so a place that has become unreachable delays nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dogwatch.model import Ended, Job, Known
from dogwatch.results.integrity import BROKEN, INTACT
from dogwatch.watcher.job.artifacts import Judgement
from dogwatch.watcher.job.extra_probes import extra_probe
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.ending import FinalIntegrity, IntegrityCount
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt
from dogwatch.wire.answer import CheckedAnswer
from dogwatch.wire.programs import CheckpointVerdict, FileVerdict, Integrity
from dogwatch.wire.requests import ExtraProbe, IntegrityCall
from dogwatch.wire.sections import Files

EXTRA_PROBE = "integrity"
SECONDS = 4.0  # of reading, for all jobs that ended together
GRACE = 3.0  # beyond which it is not waited for
BYTES = 2 << 30
MOST_JOBS, MOST_FILES, MOST_CHECKPOINTS, MOST_NAMED = 16, 256, 3, 5


def wanted(jobs: Sequence[Job], known: Mapping[str, Known], memories: Mapping[str, Memory]) -> list[Job]:
    """The jobs that have ended, left something that can be judged, and were not judged yet."""
    over = [job for job in jobs if (job.expect.outputs or job.expect.checkpoints) and _has_ended(known.get(job.ref))]
    return [job for job in over if memories[job.ref].learnt.integrity is None][:MOST_JOBS]


class LeftFiles(NamedTuple):
    """The paths of what a job left: its outputs, and its checkpoints, the newest first."""

    outputs: list[str]
    checkpoints: list[str]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about the files of these jobs, in one extra probe for all of them; `files` by ref."""

    jobs: Sequence[Job] = ()
    files: Mapping[str, LeftFiles] = field(default_factory=dict)

    @property
    def asked(self) -> dict[str, LeftFiles]:
        """The jobs of which there is anything to ask."""
        globs = {job.ref: job.expect.outputs for job in self.jobs}
        return {ref: left for ref, left in self.files.items() if any(left) or globs[ref]}

    def extra_probes(self, learnt: Mapping[str, Learnt]) -> dict[str, ExtraProbe]:
        """The extra probe as a request has it; none where there is nothing to ask."""
        asked = self.asked
        if not asked:
            return {}
        call = IntegrityCall(
            SECONDS,
            BYTES,
            paths=list(dict.fromkeys(path for files in asked.values() for path in files.outputs)),
            left={
                glob: job.submitted or job.registered
                for job in self.jobs
                if job.ref in asked
                for glob in job.expect.outputs
            },
            checkpoints=[files.checkpoints for files in asked.values() if files.checkpoints],
            real={path: at for ref in asked for path, at in (learnt.get(ref, NOTHING).real or {}).items()},
        )
        return {EXTRA_PROBE: extra_probe(EXTRA_PROBE, call, seconds=int(SECONDS + GRACE))}

    def read(self, answer: CheckedAnswer | None) -> dict[str, Learnt]:
        """What was found of each job, by ref; a job that got no answer is not in it."""
        asked = self.asked
        found = {ref: Learnt(integrity=FinalIntegrity()) for ref in self.files if ref not in asked}
        verdicts = None if answer is None else answer.program(EXTRA_PROBE, Integrity)
        if verdicts is None:
            return found
        rows, judged = verdicts.files, verdicts.checkpoints
        for job in (job for job in self.jobs if job.ref in asked):
            unfinished = {row.file: row for row in rows if row.beside in job.expect.outputs}
            outputs = [*_of(rows, asked[job.ref].outputs), *unfinished.values()]
            checkpoints = [judged[path] for path in asked[job.ref].checkpoints if path in judged]
            kept = {row.file: judgement(row) for row in checkpoints}
            integrity = FinalIntegrity(_counted(outputs), _counted(checkpoints[:1]), kept)
            found[job.ref] = Learnt(integrity=integrity)
        return found


def judgement(row: CheckpointVerdict) -> Judgement:
    return Judgement(row.verdict, row.why, iteration=row.iteration, latest=row.latest)


def question(jobs: Sequence[Job], files: Mapping[str, Files]) -> Question:
    """What to ask about these jobs, of the files that the poll listed for them."""
    return Question(jobs, {job.ref: _left(files[job.ref]) for job in jobs if job.ref in files})


def _has_ended(known: Known | None) -> bool:
    return known is not None and isinstance(known.state, Ended)


def _left(listed: Files) -> LeftFiles:
    """All outputs, as far as that is bounded, and the checkpoints from which it could be resumed, the newest first."""
    checkpoints = [row.path for row in listed.checkpoints[-MOST_CHECKPOINTS:]]
    return LeftFiles([row.path for row in listed.outputs[-MOST_FILES:]], checkpoints[::-1])


def _of(rows: Sequence[FileVerdict], paths: Sequence[str]) -> list[FileVerdict]:
    """The verdicts on these paths and on what lies below or, as a part of the same set, beside them."""
    files, folders = set(paths), {os.path.dirname(path) for path in paths}
    return [
        row
        for row in rows
        if row.file in files
        or any(row.file.startswith(path + "/") for path in paths)
        or (row.size is None and row.beside is None and os.path.dirname(row.file) in folders)
    ]


def _counted(rows: Sequence[FileVerdict]) -> IntegrityCount:
    broken = [(row.file, row.why) for row in rows if row.verdict == BROKEN]
    unread = sum(row.verdict == "cannot tell" and "longer to read" in row.why for row in rows)
    intact = sum(row.verdict == INTACT for row in rows)
    return IntegrityCount(len(rows), intact, unread, len(broken), broken[:MOST_NAMED])
