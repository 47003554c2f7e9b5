"""Folders: the directories that globs lie in, and where those really are (see remote/probe/allowed_paths.py)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dogwatch.watcher.job.state.learnt import NOTHING, Learnt

# What questions and answers call them: where its folders were at first sight, and which of them
# lead elsewhere now.
REAL, MOVED = "real", "moved"
MOST_MOVED = 8
_SECTIONS = ("logs", "files", "texts", "gpu_metrics")


@lru_cache(maxsize=32768)
def directories(*globs: tuple[str, ...]) -> tuple[str, ...]:
    """The directories above the first wildcard of each glob, each once."""
    return tuple(sorted({_fixed(pattern) for some in globs for pattern in some}))


def _fixed(pattern: str) -> str:
    directory = os.path.dirname(pattern)
    while any(mark in directory for mark in "*?["):
        directory = os.path.dirname(directory)
    return directory or "/"


def real_of(learnt: Learnt) -> dict[str, Mapping[str, str]]:
    """What goes with every question about the files of a job: where its folders were at first sight."""
    return {REAL: learnt.real} if learnt.real else {}


def learnt(body: Mapping[str, Any], known: Mapping[str, Learnt]) -> dict[str, Learnt]:
    """By ref, where the folders of jobs are that were looked at for the first time, beside those that were known
    before, and what became of them, where that is news. What is known of a folder is never learnt anew."""
    real: dict[str, dict[str, str]] = {}
    moved: dict[str, list[str]] = {}
    for section in _SECTIONS:
        rows = body.get(section)
        for ref, row in rows.items() if isinstance(rows, dict) else ():
            if ref not in known or not isinstance(row, dict):
                continue
            if row.get(REAL):
                real[ref] = {**row[REAL], **real.get(ref, {}), **(known[ref].real or {})}
            if row.get(MOVED) or known[ref].moved:
                moved[ref] = list(dict.fromkeys([*moved.get(ref, ()), *(row.get(MOVED) or ())]))[:MOST_MOVED]
    found = {ref: Learnt(real=at) for ref, at in real.items() if at != known[ref].real}
    for ref, folders in moved.items():
        if folders != (known[ref].moved or []) and (folders or not _is_late(body, ref)):
            found[ref] = replace(found.get(ref, NOTHING), moved=folders)
    return found


def _is_late(body: Mapping[str, Any], ref: str) -> bool:
    """Whether the files of a job did not answer in full: then nothing is known to be well again."""
    rows = (body.get(section) for section in _SECTIONS)
    return any(isinstance(row, dict) and ref in (row.get("late") or ()) for row in rows)
