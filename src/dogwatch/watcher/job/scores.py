"""Scores: the result files of jobs that have ended, asked for where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dogwatch.model import Ended, Job, Known
from dogwatch.results import scores
from dogwatch.watcher.job.folders import directories, real_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt
from dogwatch.wire.answer import CheckedAnswer
from dogwatch.wire.requests import TextRequest


def requests(jobs: Sequence[Job], learnt: Mapping[str, Learnt]) -> dict[str, TextRequest]:
    """By ref, what asks for the result files of these jobs; nothing of one that has no output directory."""
    asked = {}
    for job in jobs:
        if globs := scores.globs(_directories(job)):
            real = real_of(learnt.get(job.ref, NOTHING))
            asked[job.ref] = TextRequest(globs, scores.MOST_FILES, scores.LARGEST, tail=scores.TAIL, real=real)
    return asked


def read(answer: CheckedAnswer, jobs: Sequence[Job]) -> dict[str, Learnt]:
    """What the answer taught, by ref; a job whose files could not be asked for is not in it."""
    rows = answer.texts.rows
    return {
        job.ref: Learnt(scores=scores.read(rows[job.ref].files, job.track.get("submit") or job.submitted))
        for job in jobs
        if job.ref in rows
    }


def still_wanted(jobs: Sequence[Job], known: Mapping[str, Known], memories: Mapping[str, Memory]) -> list[Job]:
    """The ended jobs without a score: an ending that is not settled is looked at again, and the results may only
    now be visible from there."""
    ended = [job for job in jobs if job.expect.outputs and isinstance(known.get(job.ref, Known()).state, Ended)]
    return [job for job in ended if not memories[job.ref].learnt.scores]


def _directories(job: Job) -> list[str]:
    """The directories of its outputs; nobody looks below the root of everything."""
    return [path for path in directories(job.expect.outputs) if path != "/"]
