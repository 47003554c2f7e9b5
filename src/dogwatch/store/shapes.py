"""Known and Job as columns, and back, such that what was written is what is read."""

from __future__ import annotations

from typing import Any, assert_never

from dogwatch.model.follow import Known
from dogwatch.model.job import Expectation, Job
from dogwatch.model.state import Ended, Missing, Outcome, Proof, Running, State, Waiting, word


def columns_of(known: Known) -> dict[str, Any]:
    """The columns of a job row that a Known fills; a job that has ended, and settled, is no longer active."""
    ended = known.state if isinstance(known.state, Ended) else None
    return {
        "active": int(ended is None or not known.settled),
        "state": word(known.state),
        "state_facts": _facts(known.state) if known.settled else {**(_facts(known.state) or {}), "settled": False},
        "outcome": ended and ended.outcome.value,
        "exit_code": ended and ended.exit_code,
        "signal": ended and ended.signal,
        "native": known.native,
        "reason": known.reason,
        "attempts": known.attempts,
        "attempt": known.attempt,
        "since": known.since,
        "proved_at": known.proved_at,
        "proof": [{"by": proof.by, "says": proof.says, "at": proof.at} for proof in known.proof],
    }


def known_of(row: dict[str, Any]) -> Known:
    return Known(
        state=_state(row),
        since=row["since"],
        native=row["native"],
        reason=row["reason"],
        attempt=row["attempt"],
        attempts=row["attempts"],
        proved_at=row["proved_at"],
        proof=tuple(Proof(**proof) for proof in row["proof"]),
        settled=(row["state_facts"] or {}).get("settled", True),
    )


def job_of(row: dict[str, Any]) -> Job:
    names = ("ref", "place", "source", "id", "name", "description", "submitted", "registered", "track")
    expect = dict(row["expect"])
    for name in ("logs", "outputs", "checkpoints"):
        expect[name] = tuple(expect.get(name, ()))
    expect["error_patterns"] = tuple((level, pattern) for level, pattern in expect.get("error_patterns", ()))
    return Job(**{name: row[name] for name in names}, expect=Expectation(**expect))


def _facts(state: State | None) -> dict[str, Any] | None:
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


def _state(row: dict[str, Any]) -> State | None:
    facts = {key: value for key, value in (row["state_facts"] or {}).items() if key != "settled"}
    match row["state"]:
        case "waiting":
            return Waiting(**facts)
        case "running":
            return Running(**facts)
        case "ended":
            return Ended(outcome=Outcome(row["outcome"]), exit_code=row["exit_code"], signal=row["signal"], **facts)
        case "missing":
            return Missing(**facts)
        case _:
            return None
