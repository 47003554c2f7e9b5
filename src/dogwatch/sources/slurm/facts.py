"""What else Slurm said of a job than its state: times, nodes, files, tasks, and why it does not start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dogwatch.sources.slurm import reasons, tasks, words
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.tasks import Piece
from dogwatch.text import SUSPENDED


def facts_of(found: Sequence[Piece], first_start: float | None = None) -> dict[str, Any]:
    """What else Slurm said, for interfaces and rules; `first_start` is when the first task of an array started."""
    rows = [piece.row for piece in found if piece.row is not None]
    running = [row for row in rows if row.word in words.RUNNING]
    waiting = [row for row in rows if row.word in words.WAITING]
    lines: Sequence[Row | Record] = running or rows or [piece.record for piece in found if piece.record is not None]
    if not lines:
        return {}
    first = lines[0]
    facts: dict[str, Any] = {
        "time_limit_at": min([row.end for row in running if row.end and row.word not in SUSPENDED], default=None),
        "expected_start": min([row.start for row in waiting if row.start is not None], default=None),
        "nodes": first.nodes if len(lines) == 1 else _nodes(lines),
        "workdir": first.workdir,
        "partition": first.partition,
        "name": first.name,
        "user": first.user,
        "limit_seconds": first.limit,
    }
    if rows:
        facts["stdout"], facts["stderr"] = rows[0].stdout, rows[0].stderr
    if waiting:
        facts |= _chances(waiting)
    if not running and not waiting:
        starts = [line.start for line in lines if line.start is not None]
        facts["started_at"] = min([*starts, *([] if first_start is None else [first_start])], default=None)
    if by := canceller_of(found):
        facts["cancelled_by"] = {"name": by.name, "owner": by.is_owner}
    if first.task:
        facts["tasks"] = tasks.document(found)
    return facts


def canceller_of(found: Sequence[Piece]) -> words.Canceller | None:
    """Who cancelled it; somebody else than its owner before that one."""
    told = [piece.verdict.canceller for piece in found if piece.verdict.canceller is not None]
    return min(told, key=lambda by: by.is_owner is True, default=None)


def runs_of(runs: Sequence[Record]) -> list[dict[str, Any]]:
    """Earlier runs of a job that was put back in the queue: when, where, and how each ended."""
    return [
        {
            "began": run.start,
            "ended": run.end,
            "nodes": run.nodes,
            "how": words.ENDED[run.word].value if run.word in words.ENDED else "requeued",
        }
        for run in runs
        if run.start is not None and run.end is not None and run.end >= run.start
    ]


def _nodes(lines: Sequence[Row | Record]) -> str:
    return ",".join(dict.fromkeys(line.nodes for line in lines if line.nodes))[:1000]


def _chances(waiting: Sequence[Row]) -> dict[str, Any]:
    """Why it waits: Slurm's own word, and a sentence when it will not start by itself."""
    facts: dict[str, Any] = {"pending": waiting[0].reason}
    for row in waiting:
        found = reasons.meaning(row.reason)
        if row.word in words.HELD:
            found = reasons.Pending(words.WAITING[row.word], reasons.Chance.HELD)
        if found.chance is reasons.Chance.NEVER:
            facts.setdefault("never_starts", found.words)
        elif found.chance is reasons.Chance.HELD:
            facts.setdefault("held", found.words)
    return facts
