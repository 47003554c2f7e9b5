"""Attempts: where each attempt of a job ran, from where on it wrote its logs, how far it came and how it ended, so that
one that failed can be compared with one that went better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.clock import recorded, stamp
from dogwatch.model import CancelledBy, Change, Ended, Known, Running
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.attempt import Attempt
from dogwatch.wire.requests import LogCursor

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument
    from dogwatch.wire.documents.job import AttemptDocument

MOST = 8
CLOSE = 2.0  # two records of one start may round it differently
MOST_LOGS = 4


def are_due(memory: Memory, change: Change) -> bool:
    """Whether a change shows an attempt at work, or at its end, that was not seen before."""
    known = memory.attempts[-1]["attempt"] if memory.attempts else 0
    return isinstance(change.after.state, (Running, Ended)) and change.after.attempts != known


def begin(memory: Memory, number: int, started: float | None, at: float) -> None:
    """An attempt begins to run. What its logs hold so far was written by others."""
    log_ends = {path: cursor.offset for path, cursor in list(memory.log.cursors.items())[:MOST_LOGS]}
    row = Attempt(attempt=number, began=started or at, ended=None, how=None, reached=None, logs=log_ends)
    facts = memory.facts
    row["nodes"], row["partition"] = facts.nodes or None, facts.partition or None
    row["limit_seconds"] = facts.limit_seconds
    memory.attempts = [*memory.attempts, row][-MOST:]


def end(memory: Memory, change: Change) -> None:
    """The attempt before a new one is over; the logs are known as they were in its last poll."""
    if not memory.attempts or memory.attempts[-1]["ended"] is not None:
        return
    before = change.before.state
    reached = memory.progress.points[-1].done if memory.progress.points else None
    how = before.outcome.value if isinstance(before, Ended) else "requeued"
    ended = change.before.since if isinstance(before, Ended) and change.before.since else change.at
    marks = dict(list(memory.log.cursors.items())[:MOST_LOGS])
    memory.attempts[-1] |= {"ended": ended, "how": how, "reached": reached, "marks": marks}


def with_doubt(memory: Memory, found: DiagnosisDocument | None) -> DiagnosisDocument | None:
    """A diagnosis that quotes a log in which nothing tells where this attempt begins says so; one of a job that was
    cancelled names who did it, and has no advice for an owner who did it."""
    found = _with_canceller(found, memory.facts.cancelled_by)
    mixed = memory.attempts[-1].get("mixed", ()) if memory.attempts else ()
    if found is None or not any(quote["file"] in mixed for quote in found["evidence"]):
        return found
    began = stamp(memory.attempts[-1]["began"])
    doubt = (
        f"check that the line belongs to this attempt: others may have written to the log before it began at {began}, "
        "and its lines have no timestamps"
    )
    return {**found, "advice": [*found["advice"], doubt]}


def _with_canceller(found: DiagnosisDocument | None, by: CancelledBy | None) -> DiagnosisDocument | None:
    if found is None or found["cause"] != "cancelled" or by is None:
        return found
    if by.is_owner:
        return {**found, "title": "its owner cancelled the job", "advice": []}
    return {
        **found,
        "title": f"{by.name} cancelled the job",
        "advice": [f"ask {by.name} why before you start it again"],
    }


def document(memory: Memory, known: Known | None = None) -> list[AttemptDocument]:
    """All that are known, oldest first, by the place's own record of them where it has one. An offset is told only as
    long as the file is the one that was written."""
    rows = _with_runs(memory, known)
    if len(rows) < 2 and not any(row["logs"] for row in memory.attempts) and (known is None or known.attempts < 2):
        return []
    under_way = bool(rows) and rows[-1]["ended"] is None
    last = len(rows) if known is None else known.attempts if under_way or _is_over(known) else known.attempts - 1
    first = max(len(rows), last) - len(rows) + 1
    return [
        {
            "attempt": first + at,
            "how": row["how"],
            "reached": row["reached"],
            "nodes": row["nodes"],
            "partition": row["partition"],
            "limit_seconds": row["limit_seconds"],
            "began": recorded(row["began"]),
            "ended": stamp(row["ended"]),
            "seconds": None if row["ended"] is None else round(max(0.0, row["ended"] - row["began"]), 1),
            "logs": _still_there(row, memory),
        }
        for at, row in enumerate(rows)
    ]


def _with_runs(memory: Memory, known: Known | None) -> list[Attempt]:
    """The attempts that were seen, with what the place recorded of those that are over, and those that nobody saw."""
    rows = [row.copy() for row in memory.attempts]
    for run in memory.facts.runs:
        over = Attempt(ended=run.ended, how=run.how, nodes=run.nodes)
        seen = next((row for row in rows if abs(row["began"] - run.began) <= CLOSE), None)
        if seen is not None:
            seen.update(over)
        else:
            unseen = Attempt(began=run.began, logs={}, marks={}, reached=None, partition=None, limit_seconds=None)
            unseen.update(over)
            rows.append(unseen)
    rows.sort(key=lambda row: row["began"])
    if rows and rows[-1]["ended"] is None and known is not None and isinstance(known.state, Ended):
        rows[-1] |= {"ended": known.since, "how": (known.outcome or known.state.outcome).value}
    return rows[-MOST:]


def _is_over(known: Known) -> bool:
    return isinstance(known.state, Ended)


def _still_there(row: Attempt, memory: Memory) -> dict[str, int]:
    """The logs that it began to write at these offsets; of the first attempt, and of one whose log was begun anew,
    that is their top."""
    found = {}
    for path, cursor in list(memory.log.cursors.items())[:MOST_LOGS]:
        mark = (row.get("marks") or {}).get(path)
        if mark is not None and not _goes_on(mark, cursor):
            continue
        start = row["logs"].get(path, 0)
        found[path] = start if start <= cursor.offset and not (row["ended"] is None and _anew(path, memory)) else 0
    return found


def _anew(path: str, memory: Memory) -> bool:
    """Whether a log is another file than the one that the attempt before wrote."""
    before = (memory.attempts[-2].get("marks") or {}).get(path) if len(memory.attempts) > 1 else None
    return before is not None and not _goes_on(before, memory.log.cursors[path])


def _goes_on(before: LogCursor, now: LogCursor) -> bool:
    """Whether a file is the one that it was, only longer. Its head is known as far as it went then."""
    if before.ino != now.ino or now.offset < before.offset:
        return False
    return before.headlen != now.headlen or before.head == now.head
