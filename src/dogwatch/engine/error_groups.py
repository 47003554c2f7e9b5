"""Error groups: the lines that error patterns matched, counted by pattern for as long as the job is watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dogwatch.engine.memory import Memory
from dogwatch.engine.reading import worker_of
from dogwatch.model import ErrorGroup, Trouble

MOST_GROUPS = 64


def error_groups(memory: Memory) -> tuple[ErrorGroup, ...]:
    """Every group of a job so far."""
    return tuple(ErrorGroup(pattern, **known) for pattern, known in memory.errors.items())


def count_errors(memory: Memory, troubles: Sequence[tuple[str, Trouble]], at: float) -> None:
    """Take in what was matched in this poll, each as (log, Trouble). A line that a worker wrote to two of its logs
    counts once."""
    lines: dict[str, Counter[tuple[str, str]]] = {}
    newest: dict[str, Trouble] = {}
    for log, one in troubles:
        lines.setdefault(one.pattern, Counter())[log, one.text] += 1
        newest[one.pattern] = one
    for pattern, counted in lines.items():
        known = memory.errors.get(pattern)
        if known is None and len(memory.errors) >= MOST_GROUPS:
            continue
        one = newest[pattern]
        count = _once_a_worker(counted) + (known["count"] if known is not None else 0)
        memory.errors[pattern] = {
            "level": one.level,
            "count": count,
            "words": one.words,
            "text": one.text,
            "at": at,
        }


def _once_a_worker(counted: Counter[tuple[str, str]]) -> int:
    most: dict[tuple[object, str], int] = {}
    for (log, text), count in counted.items():
        worker = worker_of(log, {})
        key = (log if worker is None else worker, text)
        most[key] = max(most.get(key, 0), count)
    return sum(most.values())
