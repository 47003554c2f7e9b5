"""Proving: whether what a job left is whole, asked once after its end, where it lies.

It rides on the follow-up of the poll that found the ending, within seconds and bytes of its own. What got no answer is
asked again at the next polls, so that a place that became unreachable meanwhile delays nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dogwatch.model import Ended, Job, Known
from dogwatch.transport import extra_probe as extra_probes
from dogwatch.watcher.job.folders import REAL
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt

EXTRA_PROBE = "integrity"
SECONDS = 4.0  # of reading, for all jobs that ended together
GRACE = 3.0  # beyond which it is not waited for
BYTES = 2 << 30
MOST_JOBS, MOST_FILES, MOST_CHECKPOINTS, MOST_NAMED = 16, 256, 3, 5


def wanted(jobs: Sequence[Job], known: Mapping[str, Known], memories: Mapping[str, Memory]) -> list[Job]:
    """The jobs that have ended, left something that can be judged, and were not judged yet."""
    over = [job for job in jobs if (job.expect.outputs or job.expect.checkpoints) and _has_ended(known.get(job.ref))]
    return [job for job in over if memories[job.ref].learnt.integrity is None][:MOST_JOBS]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about the files of these jobs, in one extra probe for all of them; `paths` by ref."""

    jobs: Sequence[Job] = ()
    paths: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)

    @property
    def asked(self) -> dict[str, Mapping[str, list[str]]]:
        """The jobs of which there is anything to ask."""
        globs = {job.ref: job.expect.outputs for job in self.jobs}
        return {ref: named for ref, named in self.paths.items() if any(named.values()) or globs[ref]}

    def extra_probes(self, learnt: Mapping[str, Learnt]) -> dict[str, Any]:
        """The extra probe as a request has it; none where there is nothing to ask."""
        asked = self.asked
        if not asked:
            return {}
        every = list(dict.fromkeys(path for named in asked.values() for path in named["outputs"]))
        saved = [named["checkpoints"] for named in asked.values() if named["checkpoints"]]
        left = {
            glob: job.submitted or job.registered
            for job in self.jobs
            if job.ref in asked
            for glob in job.expect.outputs
        }
        real = {path: at for ref in asked for path, at in (learnt.get(ref, NOTHING).real or {}).items()}
        call = {"paths": every, "left": left, "checkpoints": saved, "seconds": SECONDS, "bytes": BYTES, REAL: real}
        return {EXTRA_PROBE: extra_probes.spec(EXTRA_PROBE, call, seconds=int(SECONDS + GRACE))}

    def read(self, body: Mapping[str, Any]) -> dict[str, Learnt]:
        """What was found of each job, by ref; a job that got no answer is not in it."""
        asked = self.asked
        found = {ref: Learnt(integrity=_told([], [])) for ref in self.paths if ref not in asked}
        told, _ = extra_probes.brought(body, EXTRA_PROBE) if asked else (None, "")
        if told is None:
            return found
        rows, judged = told.get("files") or [], told.get("checkpoints") or {}
        for job in (job for job in self.jobs if job.ref in asked):
            unfinished = {row["file"]: row for row in rows if row.get("beside") in job.expect.outputs}
            outputs = [*_of(rows, asked[job.ref]["outputs"]), *unfinished.values()]
            saved = [judged[path] for path in asked[job.ref]["checkpoints"] if path in judged]
            found[job.ref] = Learnt(integrity=_told(outputs, saved))
        return found


def question(jobs: Sequence[Job], files: Mapping[str, Mapping[str, Any]]) -> Question:
    """What to ask about these jobs, of the files that the poll listed for them."""
    return Question(jobs, {job.ref: _paths(files[job.ref]) for job in jobs if job.ref in files})


def _has_ended(known: Known | None) -> bool:
    return known is not None and isinstance(known.state, Ended)


def _paths(listed: Mapping[str, Any]) -> dict[str, list[str]]:
    """All outputs, as far as that is bounded, and the checkpoints from which it could be resumed, the newest first."""
    outputs = [row["path"] for row in listed.get("outputs", ())][-MOST_FILES:]
    saved = [row["path"] for row in listed.get("checkpoints", ())][-MOST_CHECKPOINTS:]
    return {"outputs": outputs, "checkpoints": saved[::-1]}


def _of(rows: Sequence[Mapping[str, Any]], paths: Sequence[str]) -> list[Mapping[str, Any]]:
    """The verdicts on these paths and on what lies below or, as a part of the same set, beside them."""
    files, folders = set(paths), {os.path.dirname(path) for path in paths}
    return [
        row
        for row in rows
        if row["file"] in files
        or any(row["file"].startswith(path + "/") for path in paths)
        or (row["size"] is None and "beside" not in row and os.path.dirname(row["file"]) in folders)
    ]


def _told(outputs: Sequence[Mapping[str, Any]], checkpoints: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of the checkpoints the newest is counted; `checkpoints` has the verdict on each that was judged."""
    kept = {row["file"]: {key: row[key] for key in ("verdict", "why", "iteration", "latest")} for row in checkpoints}
    return {"outputs": _counted(outputs), "checkpoint": _counted(checkpoints[:1]), "checkpoints": kept}


def _counted(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many are intact and how many cannot be judged, and the first that are damaged with the reason."""
    broken = [[row["file"], row["why"]] for row in rows if row["verdict"] == "damaged"]
    unread = [row for row in rows if row["verdict"] == "cannot tell" and "longer to read" in str(row["why"])]
    return {
        "files": len(rows),
        "intact": sum(row["verdict"] == "intact" for row in rows),
        "unread": len(unread),
        "damaged": len(broken),
        "broken": broken[:MOST_NAMED],
    }
