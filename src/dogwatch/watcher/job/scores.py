"""Scores: the result files of jobs that have ended, asked for where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.model import Ended, Job, Known
from dogwatch.results import scores
from dogwatch.watcher.job.folders import directories, real_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt


def request(jobs: Sequence[Job], learnt: Mapping[str, Learnt]) -> dict[str, Any]:
    """The section that asks for the result files of these jobs; nothing when none of them has an output directory."""
    asked = {}
    for job in jobs:
        found = scores.globs(_directories(job))
        if found:
            bounds = {"files": scores.MOST_FILES, "max": scores.LARGEST, "tail": scores.TAIL}
            asked[job.ref] = {"globs": found, **bounds, **real_of(learnt.get(job.ref, NOTHING))}
    return {"texts": asked} if asked else {}


def read(body: Mapping[str, Any], jobs: Sequence[Job]) -> dict[str, Learnt]:
    """What the answer taught, by ref; a job whose files could not be asked for is not in it."""
    section = body.get("texts")
    if not isinstance(section, dict):
        return {}
    found = {}
    for job in jobs:
        told, since = section.get(job.ref), job.track.get("submit") or job.submitted
        if isinstance(told, dict):
            found[job.ref] = Learnt(scores=scores.read(told["files"], since))
    return found


def still_wanted(jobs: Sequence[Job], known: Mapping[str, Known], memories: Mapping[str, Memory]) -> list[Job]:
    """The ended jobs without a score: an ending that is not settled is looked at again, and the results may only
    now be visible from there."""
    ended = [job for job in jobs if job.expect.outputs and isinstance(known.get(job.ref, Known()).state, Ended)]
    return [job for job in ended if not memories[job.ref].learnt.scores]


def _directories(job: Job) -> list[str]:
    """The directories of its outputs; nobody looks below the root of everything."""
    return [path for path in directories(job.expect.outputs) if path != "/"]
