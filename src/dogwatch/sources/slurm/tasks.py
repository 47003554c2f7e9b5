"""The pieces of a job: one for a plain job, one per task of an array, one per part of a heterogeneous job.

Tasks that ended leave the queue one by one, so the words they ended with are noted in the job's track
(`ended`: word → task ids) until the accounting tells all of them at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from dogwatch.model import Ended, Outcome, Running, Task, Tasks, Waiting
from dogwatch.model.state import State, word
from dogwatch.sources.slurm import spans, words
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.verdict import Verdict

MOST_ROWS = 200
MOST_NOTED = 100_000
_NAMED = 5
WORST_FIRST = (
    Outcome.OUT_OF_MEMORY,
    Outcome.FAILED,
    Outcome.TIMED_OUT,
    Outcome.NODE_FAILED,
    Outcome.PREEMPTED,
    Outcome.UNKNOWN,
    Outcome.CANCELLED,
    Outcome.SUCCEEDED,
)


@dataclass(slots=True)
class Piece:
    """One piece of a job, with what the queue, the accounting and our own notes say of it. `task` is empty for
    a plain job; `count` is how many tasks a line stands for."""

    task: str
    count: int = 1
    row: Row | None = None
    record: Record | None = None
    noted: str = ""
    verdict: Verdict = field(default=Verdict(None, ""))


def pieces(rows: Sequence[Row], records: Mapping[str, Record], noted: Mapping[str, str]) -> list[Piece]:
    """Every piece once. What the queue lists as waiting outranks a record that has not noticed."""
    if len(rows) == 1 and not rows[0].task:
        return [Piece("", row=rows[0], record=records.get(""))]
    found: dict[str, Piece] = {}
    groups: list[tuple[spans.Span, Piece]] = []
    for row in rows:
        piece = found.setdefault(row.task, Piece(row.task))
        if piece.row is None or (row.active and not piece.row.active):
            piece.row = row
        if _is_group(row.task):
            groups.append((spans.span(row.task), piece))
    in_queue = bool(found)
    several = in_queue or any(records) or bool(noted)
    for task, record in records.items():
        if not task and several:
            continue  # the array itself: the accounting is told of the job before it is told of its tasks
        if task in found:
            found[task].record = record
        elif _is_group(task):
            if record.final or not in_queue:
                groups.append((spans.span(task), found.setdefault(task, Piece(task, record=record))))
        elif not _within(task, groups):
            found[task] = Piece(task, record=record)
    _add_noted(found, groups, noted)
    _count_groups(groups, {int(task) for task in found if task.isdecimal() and len(task) < 10})
    return [piece for piece in found.values() if piece.count]


def _count_groups(groups: Sequence[tuple[spans.Span, Piece]], singles: Set[int]) -> None:
    """Every task counts once: the queue and the accounting may spell the same group differently, and the accounting may
    still have it as it was. Of a list that Slurm cut short there is at least one task that nothing else names."""
    earlier: list[spans.Span] = []
    for span, piece in sorted(groups, key=lambda group: (group[1].row is None, not _is_final(group[1]))):
        piece.count = span.but(singles, earlier) or (0 if span.whole else 1)
        earlier.append(span)


def _is_final(piece: Piece) -> bool:
    return piece.record is not None and piece.record.final


def note(before: Mapping[str, str], found: Iterable[Piece]) -> dict[str, str]:
    """The words of tasks that ended, with those that were noted before: native word → task ids."""
    taken: dict[int, str] = {}
    for native, text in before.items():
        for part in spans.span(text).ranges:
            taken.update(dict.fromkeys(part[:MOST_NOTED], native))
    for piece in found:
        if piece.task.isdecimal():
            taken.pop(int(piece.task), None)
            if piece.verdict.ended:
                taken[int(piece.task)] = words.bare(piece.verdict.native)
    by_word: dict[str, list[int]] = {}
    for task, native in list(taken.items())[:MOST_NOTED]:
        by_word.setdefault(native, []).append(task)
    return {native: spans.spell(tasks) for native, tasks in sorted(by_word.items())}


def roll_up(found: Sequence[Piece], first_start: float | None = None) -> Verdict:
    """The job as the sum of its pieces: under way while one is, since the first of them started (`first_start`, where
    that one has left the queue), and ended as its worst piece ended."""
    if len(found) == 1 and found[0].count == 1:
        return found[0].verdict
    tally = _tally(found)
    going = [piece for piece in found if isinstance(piece.verdict.state, (Running, Waiting))]
    if going:
        return _under_way(found, going, tally, first_start)
    if any(piece.verdict.state is None for piece in found):
        return Verdict(None, tally, says=tally)
    return _all_ended(found, tally)


def _under_way(found: Sequence[Piece], going: Sequence[Piece], tally: str, first_start: float | None) -> Verdict:
    running = [piece.verdict.state for piece in going if isinstance(piece.verdict.state, Running)]
    if not running and len(going) == len(found):
        first = going[0].verdict
        return Verdict(first.state, tally, first.reason, tally)
    starts = [state.since for state in running if state.since is not None]
    starts += [start for piece in found if (start := started(piece)) is not None]
    starts += [] if first_start is None else [first_start]
    where = ",".join(dict.fromkeys(state.where for state in running if state.where))
    reason = "" if running else f"between tasks: {going[0].verdict.reason}"
    return Verdict(Running(min(starts, default=None), where[:200]), tally, reason, tally)


def _all_ended(found: Sequence[Piece], tally: str) -> Verdict:
    ended = [(piece, piece.verdict.state) for piece in found if isinstance(piece.verdict.state, Ended)]
    outcome = min((state.outcome for _, state in ended), key=WORST_FIRST.index)
    worst = [(piece, state) for piece, state in ended if state.outcome is outcome]
    last = max((state.at for _, state in ended if state.at is not None), default=None)
    first = worst[0][1]
    reason = "" if outcome is Outcome.SUCCEEDED else _how_many(worst, found)
    against = next((piece.verdict.contradiction for piece in found if piece.verdict.contradiction), "")
    return Verdict(Ended(outcome, first.exit_code, first.signal, last, reason), tally, reason, tally, against)


def _how_many(worst: Sequence[tuple[Piece, Ended]], found: Sequence[Piece]) -> str:
    count, total = (sum(piece.count for piece in group) for group in ([p for p, _ in worst], found))
    named = [f"{piece.task} ({state.reason})" if state.reason else piece.task for piece, state in worst[:_NAMED]]
    more = "" if len(worst) <= _NAMED else " …"
    outcome = worst[0][1].outcome.value.replace("_", " ")
    return f"{count} of {total} tasks {outcome}: {', '.join(named)}{more}"


def summary(pieces: Sequence[Piece]) -> Tasks:
    """What interfaces show of the pieces: how many, in which states, and the odd ones first."""
    states: Counter[str] = Counter()
    for piece in pieces:
        states[_word(piece.verdict.state)] += piece.count
    odd = sorted(pieces, key=lambda piece: (_oddness(piece.verdict.state), *_in_order(piece.task)))
    count = sum(piece.count for piece in pieces)
    return Tasks(count, dict(sorted(states.items())), tuple(map(_task, odd[:MOST_ROWS])))


def _task(piece: Piece) -> Task:
    state, verdict = piece.verdict.state, piece.verdict
    if isinstance(state, Ended):
        ending = (state.outcome.value, verdict.native, state.exit_code, state.signal)
        return Task(piece.task, word(state) or "missing", *ending, verdict.reason)
    return Task(piece.task, word(state) or "missing", native=verdict.native, reason=verdict.reason)


def _oddness(state: State | None) -> int:
    match state:
        case Ended(outcome=outcome):
            return WORST_FIRST.index(outcome) if outcome is not Outcome.SUCCEEDED else 20
        case None:
            return 8
        case Running():
            return 10
        case _:
            return 15


def _word(state: State | None) -> str:
    return state.outcome.value if isinstance(state, Ended) else word(state) or "missing"


def _tally(found: Sequence[Piece]) -> str:
    """`2 RUNNING, 6 PENDING`: Slurm's words with how often each stands there."""
    counts: Counter[str] = Counter()
    for piece in found:
        counts[words.bare(piece.verdict.native) or "?"] += piece.count
    return ", ".join(f"{count} {native}" for native, count in counts.most_common())


def started(piece: Piece) -> float | None:
    """When it started, as far as a line or a record of it says."""
    source = piece.record or piece.row
    return source.start if source is not None and not isinstance(piece.verdict.state, Waiting) else None


def _is_group(task: str) -> bool:
    return bool(task) and not task.startswith("+") and not task.isdecimal()


def _within(task: str, groups: Sequence[tuple[spans.Span, Piece]]) -> bool:
    """Whether the queue still lists this task among those that wait."""
    if not (task.isdecimal() and len(task) < 10):
        return False
    return any(int(task) in span and piece.row is not None and piece.row.active for span, piece in groups)


def _in_order(task: str) -> tuple[int, str]:
    digits = task.lstrip("+").partition("-")[0].partition(",")[0]
    return (int(digits) if digits.isdecimal() and len(digits) < 10 else 0, task)


def _add_noted(found: dict[str, Piece], groups: Sequence[tuple[spans.Span, Piece]], noted: Mapping[str, str]) -> None:
    """Tasks that an earlier poll saw ending, and that the queue has dropped since."""
    if not any(task and not task.startswith("+") for task in found):
        return
    for native, text in noted.items():
        for part in spans.span(text).ranges:
            for task in part[:MOST_NOTED]:
                if str(task) not in found and not _within(str(task), groups):
                    found[str(task)] = Piece(str(task), noted=native)
