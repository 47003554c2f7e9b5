"""The final outcome: how it ended × what was declared × what the checks found × what its log says. docs/outcomes.md
has the same as a table, and a test compares the two."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dogwatch.model.finding import Level
from dogwatch.model.state import Ended, Outcome

GOOD = frozenset((Outcome.SUCCEEDED, Outcome.COMPLETED))
LEVELS = {
    Outcome.SUCCEEDED: Level.INFO,
    Outcome.COMPLETED: Level.INFO,
    Outcome.CANCELLED: Level.INFO,
    Outcome.PREEMPTED: Level.WARNING,
    Outcome.UNKNOWN: Level.WARNING,
    Outcome.INCOMPLETE: Level.CRITICAL,
    Outcome.FAILED: Level.CRITICAL,
    Outcome.TIMED_OUT: Level.CRITICAL,
    Outcome.OUT_OF_MEMORY: Level.CRITICAL,
    Outcome.NODE_FAILED: Level.CRITICAL,
}


class Word(StrEnum):
    """What the final check of one declared thing found; NONE where nothing was declared."""

    NONE = "none"
    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"
    CHECKING = "checking"


class LogEnd(StrEnum):
    """How the job's own logs end: with an error that no program survives, with the words that the work is done, or
    with a counter that contradicts that (it stops short of its own total, or went beyond it)."""

    SILENT = "silent"
    FINISHED = "finished"
    FAILED = "failed"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True)
class Found:
    """One check with what it says, in words for people."""

    word: Word = Word.NONE
    text: str = ""


@dataclass(frozen=True, slots=True)
class EndEvidence:
    """Everything that bears on the outcome besides what the place itself said."""

    items: Found = Found()
    outputs: Found = Found()
    checkpoints: Found = Found()
    workers: Found = Found()
    log: LogEnd = LogEnd.SILENT
    log_text: str = ""
    doubt: str = ""  # what speaks against a success that the place reports: one of its steps failed

    @property
    def declared(self) -> tuple[Found, ...]:
        return self.items, self.outputs, self.checkpoints, self.workers


def final_outcome(ended: Outcome, evidence: EndEvidence) -> Outcome | None:
    """The outcome that every interface shows; None as long as a check that decides it still waits for an answer.
    `ended` is what the place said: SUCCEEDED where every exit code is known and 0, UNKNOWN where one is not known."""
    if ended not in (Outcome.SUCCEEDED, Outcome.UNKNOWN):
        return ended
    words = [found.word for found in evidence.declared]
    counted = evidence.items.word is Word.THERE
    if evidence.log is LogEnd.FAILED and not (ended is Outcome.SUCCEEDED and counted):
        return Outcome.FAILED
    if Word.MISSING in words or (evidence.log is LogEnd.CONTRADICTS and not counted):
        return Outcome.INCOMPLETE
    if Word.CHECKING in words:
        return None
    checked = counted or evidence.outputs.word is Word.THERE
    if ended is Outcome.SUCCEEDED:
        return Outcome.SUCCEEDED if checked or not evidence.doubt else Outcome.UNKNOWN
    if checked or evidence.log is LogEnd.FINISHED:
        return Outcome.COMPLETED
    return Outcome.UNKNOWN


def final_reason(ended: Ended, outcome: Outcome, evidence: EndEvidence) -> str:
    """Why the outcome is not just what the place said; empty where it is."""
    texts = {word: [check.text for check in evidence.declared if check.word is word and check.text] for word in Word}
    if outcome is Outcome.INCOMPLETE:
        against = texts[Word.MISSING] or [evidence.log_text]
        return "; ".join([*against, ended.reason] if ended.outcome is Outcome.UNKNOWN and ended.reason else against)
    if outcome is Outcome.FAILED and ended.outcome is not Outcome.FAILED:
        how = ended.reason or "exit code 0"
        return f"its log ends with an error ({how})" + (f": {evidence.log_text}" if evidence.log_text else "")
    if outcome is Outcome.COMPLETED:
        shown = texts[Word.THERE] or [evidence.log_text]
        return "; ".join([*shown, "nothing recorded its exit status, and nothing shows a failure"])
    if outcome is Outcome.UNKNOWN and ended.outcome is Outcome.SUCCEEDED:
        return f"{evidence.doubt}, and nothing else shows that the work is done"
    if outcome is Outcome.UNKNOWN and ended.outcome is Outcome.UNKNOWN:
        return "; ".join([ended.reason, *texts[Word.UNKNOWN]]) if texts[Word.UNKNOWN] else ""
    return ""


def exit_code(outcome: Outcome | None) -> int:
    """0 where it ended well, else 1."""
    return 0 if outcome in GOOD else 1


def in_words(outcome: Outcome) -> str:
    """As people read it."""
    if outcome is Outcome.COMPLETED:
        return "completed, exit status unknown"
    return "ended, outcome unknown" if outcome is Outcome.UNKNOWN else outcome.value.replace("_", " ")
