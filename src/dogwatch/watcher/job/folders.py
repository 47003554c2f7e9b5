"""Folders: the directories that globs lie in, and where those really are (see remote/probe/allowed_paths.py)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from dogwatch.watcher.job.state.learnt import NOTHING, Learnt
from dogwatch.wire.answer import CheckedAnswer, Rows
from dogwatch.wire.box import NO_BOX, BoxRow
from dogwatch.wire.sections import Files, GpuMetrics, Logs, Texts

MOST_MOVED = 8


@lru_cache(maxsize=32768)
def directories(*globs: tuple[str, ...]) -> tuple[str, ...]:
    """The directories above the first wildcard of each glob, each once."""
    return tuple(sorted({_fixed(pattern) for some in globs for pattern in some}))


def _fixed(pattern: str) -> str:
    directory = os.path.dirname(pattern)
    while any(mark in directory for mark in "*?["):
        directory = os.path.dirname(directory)
    return directory or "/"


def real_of(learnt: Learnt) -> dict[str, str]:
    """What goes with every question about the files of a job: where its folders were at first sight."""
    return dict(learnt.real or {})


def learnt(answer: CheckedAnswer, known: Mapping[str, Learnt]) -> dict[str, Learnt]:
    """By ref, where the folders of jobs are that were looked at for the first time, beside those that were known
    before, and what became of them, where that is news. What is known of a folder is never learnt anew."""
    real: dict[str, dict[str, str]] = {}
    moved: dict[str, list[str]] = {}
    for ref, row in _rows(answer):
        if ref not in known:
            continue
        if row.real:
            real[ref] = {**row.real, **real.get(ref, {}), **(known[ref].real or {})}
        if row.moved or known[ref].moved:
            moved[ref] = list(dict.fromkeys([*moved.get(ref, ()), *row.moved]))[:MOST_MOVED]
    news = {ref: Learnt(real=at) for ref, at in real.items() if at != known[ref].real}
    for ref, folders in moved.items():
        if folders != (known[ref].moved or []) and (folders or not _is_late(answer, ref)):
            news[ref] = replace(news.get(ref, NOTHING), moved=folders)
    return news


def _rows(answer: CheckedAnswer) -> Iterator[tuple[str, Logs | Files | Texts | GpuMetrics | BoxRow]]:
    """All that was said of the files of jobs, by ref."""
    for section in _sections(answer):
        for ref, row in section.rows.items():
            if row is not None:
                yield ref, row
    for ref, run in (answer.box or NO_BOX).rows.items():
        if run.markers is not None or run.results is not None:
            yield ref, run


def _sections(answer: CheckedAnswer) -> Iterable[Rows[Logs] | Rows[Files] | Rows[Texts] | Rows[GpuMetrics | None]]:
    return answer.logs, answer.files, answer.texts, answer.gpu_metrics


def _is_late(answer: CheckedAnswer, ref: str) -> bool:
    """Whether the files of a job did not answer in full: then nothing is known to be well again."""
    return any(ref in section.late for section in _sections(answer))
