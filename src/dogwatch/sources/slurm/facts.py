"""What else Slurm said of a job than its state: times, nodes, files, tasks, and why it does not start."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.model import CancelledBy, EarlierRun, Facts
from dogwatch.sources.slurm import reasons, tasks, words
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.tasks import Piece
from dogwatch.text import SUSPENDED


def facts_of(pieces: Sequence[Piece], first_start: float | None = None) -> Facts | None:
    """What else Slurm said, for interfaces and rules; `first_start` is when the first task of an array started."""
    rows = [piece.row for piece in pieces if piece.row is not None]
    running = [row for row in rows if row.word in words.RUNNING]
    waiting = [row for row in rows if row.word in words.WAITING]
    lines: Sequence[Row | Record] = running or rows or [piece.record for piece in pieces if piece.record is not None]
    if not lines:
        return None
    first = lines[0]
    starts = [line.start for line in lines if line.start is not None] if not running and not waiting else []
    starts += [] if first_start is None or running or waiting else [first_start]
    never_starts, held = _chances(waiting)
    return Facts(
        time_limit_at=min([row.end for row in running if row.end and row.word not in SUSPENDED], default=None),
        expected_start=min([row.start for row in waiting if row.start is not None], default=None),
        limit_seconds=first.limit,
        nodes=first.nodes if len(lines) == 1 else _nodes(lines),
        partition=first.partition,
        workdir=first.workdir,
        name=first.name,
        user=first.user,
        never_starts=never_starts,
        held=held,
        stdout=rows[0].stdout if rows else "",
        stderr=rows[0].stderr if rows else "",
        started_at=min(starts, default=None),
        cancelled_by=canceller_of(pieces),
        tasks=tasks.summary(pieces) if first.task else None,
    )


def canceller_of(pieces: Sequence[Piece]) -> CancelledBy | None:
    """Who cancelled it; somebody else than its owner before that one."""
    cancellers = [piece.verdict.canceller for piece in pieces if piece.verdict.canceller is not None]
    by = min(cancellers, key=lambda by: by.is_owner is True, default=None)
    return None if by is None else CancelledBy(by.name, by.is_owner)


def runs_of(runs: Sequence[Record]) -> tuple[EarlierRun, ...]:
    """Earlier runs of a job that was put back in the queue: when, where, and how each ended."""
    return tuple(
        EarlierRun(run.start, run.end, run.nodes, str(words.ENDED.get(run.word, "requeued")))
        for run in runs
        if run.start is not None and run.end is not None and run.end >= run.start
    )


def _nodes(lines: Sequence[Row | Record]) -> str:
    return ",".join(dict.fromkeys(line.nodes for line in lines if line.nodes))[:1000]


def _chances(waiting: Sequence[Row]) -> tuple[str, str]:
    """Why it can never start as it is, and why somebody has to release it first; empty where that is not so."""
    why: dict[reasons.Chance, str] = {}
    for row in waiting:
        pending = reasons.meaning(row.reason)
        if row.word in words.HELD:
            pending = reasons.Pending(words.WAITING[row.word], reasons.Chance.HELD)
        why.setdefault(pending.chance, pending.words)
    return why.get(reasons.Chance.NEVER, ""), why.get(reasons.Chance.HELD, "")
