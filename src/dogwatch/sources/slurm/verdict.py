"""What Slurm says of one job, or of one task of one: a line of the queue, a record of the accounting, or both.

The queue's word on what is active beats the accounting, which lags; the accounting's word on an ending beats the
queue's, because it has the steps. A verdict without a state is open: it has ended, and how is not known yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from dogwatch.model import Ended, Outcome, Running, Waiting
from dogwatch.model.state import State
from dogwatch.sources.slurm import reasons, words
from dogwatch.sources.slurm.accounting import Record, Step
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.times import spell
from dogwatch.sources.slurm.words import Canceller, Exit

SKEW = 120.0  # as far as a cluster's clock may be from ours before a comparison of the two says anything


class Verdict(NamedTuple):
    """A state with the word that made it, the reason, and what a piece of evidence would quote."""

    state: State | None
    native: str
    reason: str = ""
    says: str = ""
    contradiction: str = ""
    canceller: Canceller | None = None

    @property
    def ended(self) -> bool:
        return isinstance(self.state, Ended)


def still(before: State | None, started: float | None, nodes: str = "") -> State:
    """The state as it was, for a word that does not move it; of a job nobody has seen, what its start says."""
    if isinstance(before, (Running, Waiting)):
        return before
    return Running(started, nodes) if started is not None else Waiting()


def of_row(row: Row, before: State | None) -> Verdict:
    """What the queue says by itself."""
    if row.word in words.RUNNING:
        return Verdict(Running(row.start, row.nodes), row.native, words.RUNNING[row.word], row.native)
    if row.word in words.WAITING:
        why = words.WAITING[row.word] or _pending(row)
        return Verdict(Waiting(why), row.native, why, _said(row.native, row.reason))
    if row.word in words.ENDED:
        state = _ending(row.word, row.native, row.exit, row.end, cut=False, limit=row.limit, nodes=row.nodes)
        return Verdict(state, row.native, state.reason, _said(row.native, row.exit))
    if row.word == "REVOKED":
        why = "another cluster of the federation has it"
    else:
        why = f"Slurm says {row.native}, a state that Dogwatch does not know"
    return Verdict(still(before, row.start, row.nodes), row.native, why, row.native)


def preempted(row: Row) -> Verdict:
    """It runs no more, and Slurm may put it back in the queue."""
    why = "preempted: another job took its nodes; Slurm may put it back in the queue"
    return Verdict(Waiting(why), row.native, why, row.native)


def of_record(
    record: Record, row: Row | None, seen_until: float | None, names: Mapping[str, str] | None = None
) -> Verdict:
    """How it ended by the accounting. `seen_until`: when it was last seen alive; `names`: of those who cancelled."""
    exit_, cut = record.exit, True
    if row is not None and row.exit is not None and not row.active:
        exit_, cut = row.exit, False  # the queue does not take 128 off
    by = words.canceller(record.native, record.uid, record.user, names)
    state = _ending(
        record.word,
        record.native,
        exit_,
        record.end,
        cut=cut,
        limit=record.limit,
        nodes=record.nodes,
        by=by,
        why=record.reason if record.start is None else "",
    )
    verdict = Verdict(state, record.native, state.reason, _said(record.native, record.exit), canceller=by)
    if state.outcome is Outcome.SUCCEEDED:
        if row is None and _invented(record, seen_until):
            return _not_believed(verdict, state)
        return verdict._replace(contradiction=_contradiction(record))
    if row is None and _flushed(record):
        why = (
            f"the controller no longer knows it: the accounting closed its record as {record.native} and does not"
            " say who cancelled it; outcome unknown"
        )
        return _because(verdict, Ended(Outcome.UNKNOWN, at=record.end, reason=why))
    starved = _starved(record)
    if starved is None or state.outcome is Outcome.OUT_OF_MEMORY:
        return verdict
    if state.outcome is not Outcome.FAILED:
        return _because(verdict, replace(state, reason=f"{state.reason}; before that, {starved}"))
    return _because(verdict, replace(state, outcome=Outcome.OUT_OF_MEMORY, reason=starved))


def of_memory(word: str) -> Verdict:
    """How a task ended by a word that an earlier look at the queue saw."""
    state = Ended(words.ENDED.get(words.bare(word), Outcome.UNKNOWN))
    return Verdict(state, word, says=word)


def unknown(reason: str, native: str = "", at: float | None = None) -> Verdict:
    """It is over, and nobody knows how: never success."""
    return Verdict(Ended(Outcome.UNKNOWN, at=at, reason=reason), native, reason, reason)


def may_hide_memory(row: Row) -> bool:
    """Whether only the steps can tell this failure from one of memory: they say OUT_OF_MEMORY, the job FAILED 1:0."""
    return row.word == "FAILED" and row.exit is not None and bool(row.exit.code)


def _ending(
    word: str,
    native: str,
    exit_: Exit | None,
    end: float | None,
    *,
    cut: bool,
    limit: float | None,
    nodes: str,
    by: Canceller | None = None,
    why: str = "",
) -> Ended:
    """An ending and its reason. TIMEOUT and its like win over the exit code, which may well be 0."""
    outcome = words.ENDED.get(word, Outcome.UNKNOWN)
    code, signal = (None, None) if exit_ is None else (exit_.exit_code, exit_.by_signal)
    if outcome is Outcome.SUCCEEDED and exit_ is not None and not exit_.clean:
        reason = f"Slurm says COMPLETED, but: {words.how_it_exited(exit_, cut=cut)}"
        return Ended(Outcome.FAILED, code, signal, end, reason)
    if outcome not in (Outcome.SUCCEEDED, Outcome.FAILED):
        code = code or None
    match word:
        case "COMPLETED":
            reason = ""
        case "FAILED":
            reason = words.how_it_exited(exit_, cut=cut)
        case "CANCELLED":
            reason = "cancelled" if by is None else by.words
            if by is None and why:
                reason = f"cancelled by Slurm: {reasons.meaning(why).words}"
        case "TIMEOUT":
            reason = "it reached its time limit" + (f" of {spell(limit)}" if limit else "")
        case "DEADLINE":
            reason = "its deadline passed"
        case "OUT_OF_MEMORY":
            reason = "it ran out of memory"
        case "NODE_FAIL":
            reason = "a node failed" + (f" ({nodes})" if nodes else "")
        case "BOOT_FAIL":
            reason = "its node did not boot" + (f" ({nodes})" if nodes else "")
        case "PREEMPTED":
            reason = "preempted: another job took its nodes, and Slurm did not put it back"
        case _:
            reason = f"Slurm says {native}, which does not say how it ended"
    return Ended(outcome, code, signal, end, reason)


def _pending(row: Row) -> str:
    found = reasons.meaning(row.reason)
    if row.dependency and row.reason.startswith("Dependency"):
        return f"{found.words} ({row.dependency[:120]})"
    return found.words


def _said(native: str, more: object) -> str:
    return f"{native} {more}" if more and str(more) != "None" else native


def _because(verdict: Verdict, state: Ended) -> Verdict:
    return verdict._replace(state=state, reason=state.reason)


def _starved(record: Record) -> str | None:
    """The step that ran out of memory, or the highest exit code of all steps when it says so."""
    for step in record.steps:
        if step.word == "OUT_OF_MEMORY":
            return f"step {record.id}.{step.id}{_named(step)} ran out of memory ({_said(step.native, step.exit)})"
    if record.derived is not None and record.derived.says_memory:
        return f"a step ran out of memory (derived exit code {record.derived})"
    return None


def _contradiction(record: Record) -> str:
    """What speaks against a success that is Slurm's word alone: a step that failed and was not repeated well."""
    repeated = False
    for at, step in enumerate(record.steps):
        failed = step.word in words.ENDED and words.ENDED[step.word] is not Outcome.SUCCEEDED
        again = any(later.name == step.name and later.word == "COMPLETED" for later in record.steps[at + 1 :])
        repeated = repeated or (failed and again)
        if failed and step.id != "extern" and not again:
            said = _said(step.native, step.exit)
            return f"Slurm says {record.native}, but its step {record.id}.{step.id}{_named(step)} is {said}"
    if not repeated and record.derived is not None and not record.derived.clean:
        return f"Slurm says {record.native}, but the highest exit code of its steps is {record.derived}"
    return ""


def _named(step: Step) -> str:
    return f" ({step.name})" if step.name and step.name != step.id else ""


def _flushed(record: Record) -> bool:
    """Whether the record was closed because a controller came up without its state: then the job and all its
    steps are CANCELLED at once with no signal, where a real cancel names a uid and ends the script with one."""
    if record.native != "CANCELLED" or record.start is None:
        return False
    return all(step.native == "CANCELLED" and (step.exit is None or step.exit.clean) for step in record.steps)


def _invented(record: Record, seen_until: float | None) -> bool:
    """Whether the record is what `sacctmgr fix runaway` writes: ended as it started, though it was seen to run on."""
    if record.start is None or record.end is None or record.end > record.start:
        return False
    return seen_until is not None and seen_until - record.end > SKEW


def _not_believed(verdict: Verdict, state: Ended) -> Verdict:
    contradiction = (
        f"the accounting says {verdict.native} with an end at its start, as an administrator's repair of a lost job"
        " leaves it, but it was seen running long after"
    )
    doubted = replace(state, outcome=Outcome.UNKNOWN, exit_code=None, at=None, reason=contradiction)
    return _because(verdict, doubted)._replace(contradiction=contradiction)
