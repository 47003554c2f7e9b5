"""Scores: what the result files under an output directory say, whichever tool wrote them."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dogwatch.results import inspect_ai, lm_eval, nel
from dogwatch.results.interface import BytesReader, Reader, Score
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import ScoreDocument
    from dogwatch.wire.sections import TextFile

READERS: tuple[Reader, ...] = (lm_eval.reader, nel.reader, nel.bundle, inspect_ai.reader)
BYTES_READERS: tuple[BytesReader, ...] = (inspect_ai.archive,)
MOST_FILES, LARGEST, MOST_SCORES = 16, 4 << 20, 64
TAIL = 256 << 10  # of a file that is larger than that
EARLY = 60.0  # a file server's clock need not be ours


def globs(directories: Sequence[str]) -> list[str]:
    """Where result files of a job lie that writes into these directories."""
    names = [glob for one in READERS for glob in one.globs] + [glob for one in BYTES_READERS for glob in one.globs]
    return [os.path.join(_literal(folder), name) for folder in directories for name in names]


def read(files: Mapping[str, TextFile], since: float | None) -> list[ScoreDocument]:
    """The scores in these files (text and time of change by path), the newest file's word on a task last. A file that
    is older than the job is not its result."""
    found: dict[str, Score] = {}
    mine = [(path, entry) for path, entry in files.items() if since is None or entry.mtime >= since - EARLY]
    for path, entry in sorted(mine, key=lambda row: (row[1].mtime, row[0])):
        found |= {score.task: score for score in _scores(path, entry.text)}
    return [_document(score) for score in list(found.values())[:MOST_SCORES]]


def words(score: ScoreDocument, label: str | None = None) -> str:
    """`MMLU-Pro: 42.3%`, or the bare figure with its metric where it is no fraction."""
    name = plain(label or str(score["task"]), 60)
    value = float(score["value"])
    if 0.0 <= value <= 1.0 and not _is_a_size(str(score["metric"])):
        return f"{name}: {100 * value:.1f}%"
    return f"{name}: {value:.4g} ({plain(str(score['metric']), 40)})"


def _scores(path: str, latin: str) -> Sequence[Score]:
    raw, name = latin.encode("latin-1", "replace"), os.path.basename(path)
    text = raw.decode("utf-8", "replace")
    mine = [one.read(text) for one in READERS if _is_named(name, one.globs)]
    mine += [one.read_bytes(raw) for one in BYTES_READERS if _is_named(name, one.globs)]
    return next((found for found in mine if found is not None), ())


def _is_named(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(name, os.path.basename(glob)) for glob in globs)


def _document(score: Score) -> ScoreDocument:
    task, metric = plain(score.task, 100), plain(score.metric, 100)
    return {"task": task, "metric": metric, "value": score.value, "stderr": score.stderr}


def _is_a_size(metric: str) -> bool:
    """Whether a small number of this is small, and not a share of everything."""
    return any(word in metric.lower() for word in ("perplexity", "loss", "bits", "byte", "latency", "seconds"))


def _literal(folder: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in folder)
