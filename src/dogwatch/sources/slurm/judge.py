"""One job: from everything that Slurm said in one poll to an Observation, or to none.

Not listed is not ended. A job that left the queue is Missing until the accounting names its ending; when the
accounting answers and has nothing for five minutes, or there is none and the queue has not listed it for as long, it
has ended and nobody knows how. The clock of the first wait is kept in the job's track (`missing_since`), because it
runs only while the accounting answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from msgspec import to_builtins

from dogwatch.model import EarlierRun, Ended, Evidence, Facts, Job, Known, Missing, Observation, Outcome, Running
from dogwatch.sources.slurm import tasks, verdict
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.efficiency import efficiency
from dogwatch.sources.slurm.facts import facts_of, runs_of
from dogwatch.sources.slurm.identity import CLOSE, Identity, attempt_key, identity, restarts_of
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.tasks import Piece
from dogwatch.sources.slurm.track import SlurmTrack, tracks
from dogwatch.sources.slurm.verdict import Verdict

PATIENCE = 300.0  # how long the accounting may lag behind the queue
MOST_TRIES = 5  # looks in which the accounting may fail to tell of the runs before this one
LATE_WITNESS = 3600.0  # how long an ending that nobody knows is still asked about
WITNESS = "Slurm"


class Books(StrEnum):
    """Whether the accounting was asked about a job, and answered."""

    ANSWERED = "answered"
    DOWN = "down"
    NONE = "none"
    NOT_ASKED = "not asked"


class Said(NamedTuple):
    """What one poll has to say of one job: its lines in the queue, its records, and how the accounting fared; of one
    that was preempted whether Slurm may put it back, and of one that was cancelled the names of uids."""

    rows: Sequence[Row] = ()
    records: Sequence[Record] = ()
    books: Books = Books.NOT_ASKED
    why: str = ""
    cluster: str = ""
    requeue: bool | None = None
    names: Mapping[str, str] | None = None


@dataclass(slots=True)
class _Case:
    """One job under judgement, and what is learnt of it on the way."""

    job: Job
    known: Known
    said: Said
    at: float
    who: Identity
    track: SlurmTrack
    strangers: list[Row] = field(default_factory=list)
    attempt: str = ""
    first_start: float | None = None
    runs: tuple[EarlierRun, ...] = ()

    @property
    def patient(self) -> bool:
        """Whether the accounting may still come up with what it lacks."""
        since = self.track.missing_since
        return self.said.books is Books.ANSWERED and not (since is not None and self.at - since >= PATIENCE)

    @property
    def long_gone(self) -> bool:
        """Whether it has been out of the queue for longer than a requeue takes."""
        state = self.known.state
        return isinstance(state, Missing) and self.at - state.since >= PATIENCE


def judge_job(job: Job, known: Known, said: Said, at: float) -> Observation:
    """What this poll says of `job`; an Observation of Missing for one that is in nobody's books yet."""
    case = _Case(job, known, said, at, identity(job, known), copy(tracks.of(job)), attempt=known.attempt)
    rows: list[Row] = []
    for row in said.rows:
        (rows if case.who.owns(row) else case.strangers).append(row)
    if case.track.missing_since is not None and case.track.missing_since > at:
        case.track.missing_since = None
    found = tasks.pieces(rows, _records(case, rows), _ended_before(case))
    for piece in found:
        if piece.row is not None and piece.record is not None and not _of_this_run(piece.record, piece.row):
            piece.record = None
        piece.verdict = _of_piece(case, piece)
    _learn(case, rows, found)
    _learn_runs(case, found)
    whole = tasks.roll_up(found, case.first_start) if found else Verdict(None, "")
    if whole.state is None:
        return _open(case, found, whole)
    case.track.missing_since = None
    return _observation(case, found, whole)


def _records(case: _Case, rows: Sequence[Row]) -> dict[str, Record]:
    """Our newest record of every piece, and the attempt of a job of one piece."""
    by_task: dict[str, list[Record]] = {}
    for record in _of_one_job(case, rows):
        by_task.setdefault(record.task, []).append(record)
    ours = {}
    for task, group in by_task.items():
        newest, attempt = case.who.newest(group)
        if newest is None:
            continue
        ours[task] = newest
        if not rows and (not task or not case.attempt):
            case.attempt = attempt
    if len(rows) == 1 and not rows[0].task:
        case.attempt = case.who.attempt_of(rows[0])
    elif rows:
        case.attempt = _attempt_of_many(case, rows)
    return ours


def _of_one_job(case: _Case, rows: Sequence[Row]) -> Sequence[Record]:
    """The records, without those of an older job that had the id when a controller that lost its state gave it out
    again. A known submit time tells them apart; without one, what the queue lists does, else the newest record."""
    records = case.said.records
    if case.who.submits or not records:
        return records
    if not rows:
        newest = _shape(max(records, key=lambda record: record.submit or 0.0).task)
        return [record for record in records if _shape(record.task) == newest]
    if any(row.restarts for row in rows):
        return records
    first = min((row.submit for row in rows if row.submit is not None), default=0.0)
    return [record for record in records if record.submit is None or record.submit >= first - CLOSE]


def _shape(task: str) -> str:
    """Whether it is a plain job, a part of a heterogeneous one, or a task of an array."""
    return "" if not task else "+" if task.startswith("+") else "_"


def _of_this_run(record: Record, row: Row) -> bool:
    """Whether a record is about the run that the queue lists: the one before it has an older submit time, or,
    where Slurm put it back by itself, the same one with another ending."""
    if record.submit is not None and row.submit is not None and record.submit < row.submit - CLOSE:
        return False
    if row.active or record.word == row.word or record.end is None or row.end is None:
        return True
    return record.end >= row.end - CLOSE


def _attempt_of_many(case: _Case, rows: Sequence[Row]) -> str:
    """The attempt of an array: one for as long as it lasts, however often single tasks are put back."""
    over = isinstance(case.known.state, Ended) and any(row.active for row in rows)
    if case.known.attempt and not over:
        return case.known.attempt
    first = min((row.submit for row in rows if row.submit is not None), default=None)
    return attempt_key(first, max(row.restarts for row in rows))


def _ended_before(case: _Case) -> Mapping[str, str]:
    """The tasks of this attempt that ended in earlier polls."""
    return case.track.ended if case.attempt == case.known.attempt else {}


def _of_piece(case: _Case, piece: Piece) -> Verdict:
    """The verdict on one piece, by the best evidence it has."""
    row, record, before = piece.row, piece.record, case.known.state
    if row is not None and row.active:
        return verdict.of_row(row, before)
    stays = row is not None and row.word == "PREEMPTED"
    if row is not None and stays and not _is_over(case):
        return verdict.preempted(row)
    if record is not None and record.final:
        if record.word == "PREEMPTED" and not stays and case.patient and not case.long_gone:
            return Verdict(None, record.native, "preempted; Slurm may still put it back in the queue")
        return verdict.of_record(record, row, _seen_until(case.known), case.said.names)
    if row is not None:
        if verdict.may_hide_memory(row) and case.patient:
            return Verdict(None, row.native, f"{row.native} {row.exit}; the accounting does not say why yet")
        return verdict.of_row(row, before)
    if piece.noted:
        return verdict.of_memory(piece.noted)
    return Verdict(None, record.native if record is not None else "")


def _is_over(case: _Case) -> bool:
    """Whether a job that the queue lists as PREEMPTED has ended: Slurm must not put it back, or has not done so since
    the last poll. One that it puts back is COMPLETING, and then PENDING."""
    known = case.known
    stayed = "PREEMPTED" in known.native and case.attempt == known.attempt
    return case.said.requeue is False or stayed


def _seen_until(known: Known) -> float | None:
    return known.confirmed_at if isinstance(known.state, (Running, Missing)) else None


def _learn(case: _Case, rows: Sequence[Row], found: Sequence[Piece]) -> None:
    """What the next poll needs to find this very job again."""
    track = case.track
    lines: Sequence[Row | Record] = rows or [piece.record for piece in found if piece.record is not None]
    if lines:
        first = lines[0]
        several = any(line.task for line in lines)
        track.user = track.user or first.user or None
        if first.submit is not None and not (several and track.submit):
            track.submit = first.submit
        if track.unnamed and first.name:
            track.unnamed, track.name = False, first.name
    track.cluster = track.cluster or case.said.cluster or None
    track.ended = tasks.note(_ended_before(case), found) if any(piece.task for piece in found) else {}


def _learn_runs(case: _Case, found: Sequence[Piece]) -> None:
    """When the first task of an array started, which nobody can tell once it has left the queue; and of a job that was
    put back in the queue the runs before this one, for which the accounting is asked a few times."""
    track = case.track
    if any(piece.task for piece in found):
        starts = [start for piece in found if (start := tasks.started(piece)) is not None]
        before = track.first_start if case.attempt == case.known.attempt else None
        case.first_start = min([*starts, *([] if before is None else [before])], default=None)
        track.first_start = track.first_start if case.first_start is None else case.first_start
        return
    restarts = restarts_of(case.attempt)
    if restarts and case.attempt != case.known.attempt:
        track.run_polls = 0
    case.runs = runs_of(case.who.before([record for record in case.said.records if not record.task]))
    if track.run_polls is None or case.said.books is Books.NOT_ASKED:
        return
    track.run_polls += 1
    if len(case.runs) >= restarts or track.run_polls >= MOST_TRIES:
        track.run_polls = None


def _open(case: _Case, found: Sequence[Piece], whole: Verdict) -> Observation:
    """Nobody says how it ended, or whether: keep waiting, or give up with the reason."""
    known, listed = case.known, any(piece.row is not None for piece in found)
    if isinstance(known.state, Ended) and case.attempt == known.attempt:
        case.track.missing_since = None
        silence_limit = LATE_WITNESS if known.state.outcome is Outcome.UNKNOWN else PATIENCE
        settled = case.said.books is Books.NONE or _waited(case, silence_limit)
        return _made(case, Verdict(known.state, "", known.reason), facts=None, settled=settled)
    if case.said.books is not Books.ANSWERED:
        if case.said.books is not Books.NOT_ASKED:
            case.track.missing_since = None
        return _unanswered(case)
    if case.patient and not (case.strangers and not listed):
        if case.track.missing_since is None:
            case.track.missing_since = case.at
        if listed:
            row = next(piece.row for piece in found if piece.row is not None)
            waiting = whole._replace(state=verdict.still(known.state, row.start, row.nodes), says=row.native)
            return _made(case, waiting, facts=facts_of(found, case.first_start))
        return _missing(case, _why_missing(case, found, whole))
    case.track.missing_since = None
    for piece in found:
        if piece.verdict.state is None:
            piece.verdict = verdict.unknown(_why_unknown(case, piece), piece.verdict.native)
    lost = tasks.roll_up(found, case.first_start) if found else verdict.unknown(_why_unknown(case, None), "", case.at)
    return _observation(case, found, lost)


def _unanswered(case: _Case) -> Observation:
    """Left the queue, and the accounting cannot be asked. Absence alone ends nothing, except after PREEMPTED and
    where there is no accounting to wait for."""
    if case.long_gone and case.known.native == "PREEMPTED":
        why = "preempted, and Slurm did not put it back in the queue"
        state = Ended(Outcome.PREEMPTED, at=case.known.since, reason=why)
        return _made(case, Verdict(state, "PREEMPTED", why, "PREEMPTED"), facts=None)
    if case.long_gone and case.said.books is Books.NONE:
        why = f"it left the queue, and {case.said.why}; outcome unknown"
        return _made(case, verdict.unknown(why, at=case.known.since), facts=None)
    why = case.said.why or "the accounting was not asked about it this time"
    return _missing(case, f"it left the queue, and how it ended is not known: {why}")


def _missing(case: _Case, why: str) -> Observation:
    return _made(case, Verdict(Missing(case.at), "", why), facts=None)


def _why_missing(case: _Case, found: Sequence[Piece], whole: Verdict) -> str:
    record = next((piece.record for piece in found if piece.record is not None), None)
    if whole.reason:
        return whole.reason
    if record is not None:
        return f"it left the queue, and the accounting still says {record.native}"
    if case.known.state is None:
        return "neither the queue nor the accounting lists it yet"
    return "it left the queue, and the accounting has no record of it yet"


def _why_unknown(case: _Case, piece: Piece | None) -> str:
    record = piece.record if piece is not None else None
    still = f", and the accounting still says {record.native}" if record is not None else ""
    if case.strangers:
        return (
            f"the controller no longer knows it: the id now belongs to another job of {case.strangers[0].user}"
            f"{still}; the outcome of ours is unknown"
        )
    if record is not None:
        return f"the controller no longer lists it{still}; outcome unknown"
    if case.known.state is None:
        return "Slurm knows no such job: neither the queue nor the accounting lists it"
    return "it left the queue, and the accounting has no record of it; outcome unknown"


def _observation(case: _Case, found: Sequence[Piece], whole: Verdict) -> Observation:
    facts, contradiction = facts_of(found, case.first_start), whole.contradiction
    if not isinstance(whole.state, Ended):
        return _made(case, whole, facts=facts)
    before = case.known.state
    taken_for = before.outcome if isinstance(before, Ended) and case.attempt == case.known.attempt else None
    if taken_for not in (None, Outcome.UNKNOWN, whole.state.outcome):
        contradiction = f"it was taken for {taken_for}, but {whole.reason or whole.says}"
    used = efficiency([piece.record for piece in found if piece.record is not None])
    if used is not None or contradiction:
        facts = replace(facts or Facts(), efficiency=used, contradiction=contradiction)
    return _made(case, whole, facts=facts, settled=_settled(case, found, whole.state))


def _settled(case: _Case, found: Sequence[Piece], ended: Ended) -> bool:
    """Whether nothing more is to be expected of the accounting."""
    if ended.outcome is Outcome.UNKNOWN and not all(piece.record and piece.record.final for piece in found):
        return _waited(case, LATE_WITNESS)
    if found and all(piece.record is not None and piece.record.final and piece.record.whole for piece in found):
        return True
    return case.said.books is Books.NONE or _waited(case)


def _waited(case: _Case, silence_limit: float = PATIENCE) -> bool:
    """Whether the ending has been known for that long. Its first evidence says since when."""
    known = case.known
    if not isinstance(known.state, Ended) or case.attempt != known.attempt:
        return False
    return case.at - min((evidence.at for evidence in known.evidence), default=0.0) >= silence_limit


def _made(case: _Case, whole: Verdict, facts: Facts | None, settled: bool = True) -> Observation:
    assert whole.state is not None
    evidence = (Evidence(WITNESS, whole.says, case.at),) if whole.says else ()
    attempt = _raised(case, whole) or (attempt_key(None, 0) if isinstance(whole.state, Ended) else "")
    track = None if case.track == tracks.of(case.job) else to_builtins(case.track)
    if case.runs:
        facts = replace(facts or Facts(), runs=case.runs)
    return Observation(
        case.job.ref,
        attempt,
        whole.state,
        whole.native,
        whole.reason,
        evidence,
        track=track,
        facts=facts,
        settled=settled,
        restarts=0 if facts is not None and facts.tasks else restarts_of(attempt),
    )


def _raised(case: _Case, whole: Verdict) -> str:
    """The attempt; a new one for a job that was given up and is there after all."""
    before = case.known.state
    given_up = isinstance(before, Ended) and before.outcome is Outcome.UNKNOWN and case.attempt == case.known.attempt
    if given_up and not isinstance(whole.state, (Ended, Missing)):
        return f"{case.attempt}:{int(case.at)}"
    return case.attempt
