"""Known and Job as columns, and back, such that what was written is what is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict, assert_never

from dogwatch.model.follow import Known
from dogwatch.model.job import Expectation, Job
from dogwatch.model.state import Ended, Evidence, Missing, Outcome, Running, State, Waiting, word
from dogwatch.store.rows.jobs import JobRow

if TYPE_CHECKING:
    from dogwatch.store.interface import Transaction


class StateFacts(TypedDict, total=False):
    """What a state carries beside its word. `ended_as` is the outcome that the place itself told, `said` its reason."""

    reason: str
    since: float | None
    where: str
    at: float | None
    settled: bool
    ended_as: str
    said: str


class KeptEvidence(TypedDict):
    """What a state rests on, as it is kept."""

    by: str
    says: str
    at: float


def change_known(tx: Transaction, row: JobRow, known: Known, **others: object) -> bool:
    """Write what is known of a job, with other columns of its row; whether it is still active. A job that has ended,
    and settled, is not."""
    ended = known.state if isinstance(known.state, Ended) else None
    active = ended is None or not known.settled
    tx.change(
        row,
        active=int(active),
        state=word(known.state),
        state_facts=_state_facts(known),
        outcome=known.outcome and known.outcome.value,
        exit_code=ended and ended.exit_code,
        signal=ended and ended.signal,
        native=known.native,
        reason=known.why or known.reason,
        attempts=known.attempts,
        attempt=known.attempt,
        since=known.since,
        confirmed_at=known.confirmed_at,
        evidence=evidence(known.evidence),
        **others,
    )
    return active


def evidence(evidence: Iterable[Evidence]) -> list[KeptEvidence]:
    return [{"by": evidence.by, "says": evidence.says, "at": evidence.at} for evidence in evidence]


def _state_facts(known: Known) -> StateFacts | None:
    """What the state carries, what the place itself said of an ending, and whether more is to be learnt of it."""
    facts = _facts(known.state)
    if not isinstance(known.state, Ended) or facts is None:
        return facts if known.settled else {**(facts or {}), "settled": False}
    if known.final is not None or not known.settled:
        facts["ended_as"] = known.state.outcome.value
    if known.why:
        facts["said"] = known.reason
    return facts if known.settled else {**facts, "settled": False}


_BESIDE = frozenset(("settled", "ended_as", "said"))


def known_of(row: JobRow) -> Known:
    facts = row.state_facts or {}
    return Known(
        state=_state(row),
        since=row.since,
        native=row.native,
        reason=facts.get("said", row.reason),
        attempt=row.attempt,
        attempts=row.attempts,
        confirmed_at=row.confirmed_at,
        evidence=tuple(Evidence(**evidence) for evidence in row.evidence),
        settled=facts.get("settled", True),
        final=Outcome(row.outcome) if "ended_as" in facts and row.outcome else None,
        why=row.reason if "said" in facts else "",
    )


def job_of(row: JobRow) -> Job:
    names = ("ref", "place", "source", "id", "name", "description", "submitted", "registered", "track")
    expect = dict(row.expect)
    for name in ("logs", "outputs", "checkpoints"):
        expect[name] = tuple(expect.get(name, ()))
    expect["error_patterns"] = tuple((level, pattern) for level, pattern in expect.get("error_patterns", ()))
    return Job(**{name: getattr(row, name) for name in names}, expect=Expectation(**expect))


def _facts(state: State | None) -> StateFacts | None:
    match state:
        case None:
            return None
        case Waiting(reason=reason):
            return {"reason": reason}
        case Running(since=since, where=where):
            return {"since": since, "where": where}
        case Ended(at=at, reason=reason):
            return {"at": at, "reason": reason}
        case Missing(since=since):
            return {"since": since}
        case _:
            assert_never(state)


def _state(row: JobRow) -> State | None:
    every = row.state_facts or {}
    facts = {key: value for key, value in every.items() if key not in _BESIDE}
    match row.state:
        case "waiting":
            return Waiting(**facts)
        case "running":
            return Running(**facts)
        case "ended":
            outcome = Outcome(every.get("ended_as") or row.outcome or "")
            return Ended(outcome=outcome, exit_code=row.exit_code, signal=row.signal, **facts)
        case "missing":
            return Missing(**facts)
        case _:
            return None
