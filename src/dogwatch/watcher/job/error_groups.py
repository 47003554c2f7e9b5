"""Error groups: the lines that error patterns matched, counted by pattern for as long as the job is watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dogwatch.model import ErrorGroup, Trouble
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import worker_of

MOST_GROUPS = 64


def error_groups(memory: Memory) -> tuple[ErrorGroup, ...]:
    """Every group of a job so far."""
    return tuple(memory.log.errors.values())


def count_errors(memory: Memory, troubles: Sequence[tuple[str, Trouble]], at: float) -> None:
    """Take in what was matched in this poll, each as (log, Trouble). A line that a worker wrote to two of its logs
    counts once."""
    lines: dict[str, Counter[tuple[str, str]]] = {}
    newest: dict[str, Trouble] = {}
    for log, one in troubles:
        lines.setdefault(one.pattern, Counter())[log, one.text] += 1
        newest[one.pattern] = one
    for pattern, counted in lines.items():
        known = memory.log.errors.get(pattern)
        if known is None and len(memory.log.errors) >= MOST_GROUPS:
            continue
        one = newest[pattern]
        count = _once_a_worker(counted) + (known.count if known is not None else 0)
        memory.log.errors[pattern] = ErrorGroup(pattern, one.level, count, one.words, one.text, at)


def _once_a_worker(counted: Counter[tuple[str, str]]) -> int:
    most: dict[tuple[object, str], int] = {}
    for (log, text), count in counted.items():
        worker = worker_of(log, {})
        key = (log if worker is None else worker, text)
        most[key] = max(most.get(key, 0), count)
    return sum(most.values())
