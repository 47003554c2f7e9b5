"""The events of a job's history: what happened to it, in words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dogwatch.model import Change, Closing, Ended, Facts, Finding, Known, Level, Missing, Running
from dogwatch.model.outcome import LEVELS, in_words
from dogwatch.model.stages import DONE, FAILED, RUNNING, SKIPPED, WAITING
from dogwatch.model.state import word
from dogwatch.store.rows.tick import Event
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.ending import Untold

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument
    from dogwatch.wire.documents.watch import EventBody


def opened_event(finding: Finding) -> Event:
    return _finding_event("finding.opened", finding, finding.text, finding.level.value, {})


def escalated_event(finding: Finding, before: Level) -> Event:
    """It stands as before, and matters more than it did."""
    text = f"now {finding.level.value}, before {before.value}: {finding.text}"
    return _finding_event("finding.escalated", finding, text, finding.level.value, {"before": before.value})


def closed_event(finding: Finding, how: Closing) -> Event:
    """It stands no longer. Only one that resolved is called so."""
    text = f"{how.says}: {finding.text}"
    if how is Closing.RESOLVED:
        return _finding_event("finding.resolved", finding, text, "info", {})
    return _finding_event("finding.closed", finding, text, "info", {"how": how.word})


def _finding_event(kind: str, finding: Finding, text: str, level: str, more: EventBody) -> Event:
    place = finding.subject.removeprefix("place:") if finding.subject.startswith("place:") else None
    body: EventBody = {"rule": finding.rule, "what": finding.what}
    body |= more
    return Event(kind, text, ref=None if place else finding.subject, place=place, level=level, body=body)


def stage_events(ref: str, before: Facts | None, now: Facts) -> list[Event]:
    """What became of the stages of a run since the poll before. One that began and ended in between is told of both."""
    known = {} if before is None else {stage.name: stage.state for stage in before.stages}
    said = []
    for at, stage in enumerate(now.stages):
        was, which = known.get(stage.name, WAITING), f"stage {stage.name} ({at + 1} of {len(now.stages)})"
        if stage.state == was:
            continue
        body: EventBody = {"stage": stage.name}
        if stage.state == RUNNING or (was in (WAITING, SKIPPED) and stage.state in (DONE, FAILED)):
            said.append(Event("stage.started", f"{which} started", ref=ref, body=body))
        if stage.state == DONE:
            said.append(Event("stage.done", f"{which} is done", ref=ref, body=body))
        elif stage.state == FAILED:
            how = f"exit code {stage.exit_code}" if stage.exit_code is not None else "exit code unknown"
            how = f"signal {stage.signal}" if stage.signal is not None else how
            said.append(Event("stage.failed", f"{which} failed: {how}", ref=ref, level="warning", body=body))
    return said


def begins(change: Change) -> bool:
    """Whether an attempt has just started to run; one that was merely missing for a while goes on."""
    same = change.before.attempt == change.after.attempt
    return isinstance(change.after.state, Running) and not (same and isinstance(change.before.state, Missing))


def checkpoint_event(ref: str, paths: list[str]) -> Event:
    newest = os.path.basename(paths[-1])
    text = f"checkpoint {newest}" if len(paths) == 1 else f"{len(paths)} checkpoints, newest {newest}"
    return Event("checkpoint.saved", text, ref=ref, body={"paths": paths[-8:]})


def is_new_attempt(change: Change) -> bool:
    return bool(change.before.attempt) and change.after.attempt != change.before.attempt


def moved(
    memory: Memory, ref: str, change: Change | None, after: Known, diagnosis: DiagnosisDocument | None
) -> list[Event]:
    """The change of a job's state, told once; an ending is told when its outcome is decided."""
    if change is not None:
        kind = "job.attempt" if is_new_attempt(change) else "job.state"
        memory.ending.untold = Untold(word(change.before.state) or "", kind)
    untold = memory.ending.untold
    if untold is None or (isinstance(after.state, Ended) and after.outcome is None):
        return []
    memory.ending.untold = None
    return [change_event(ref, untold.before or None, after, diagnosis, untold.kind)]


def change_event(
    ref: str, before: str | None, after: Known, diagnosis: DiagnosisDocument | None, kind: str = "job.state"
) -> Event:
    """That a job moved from the state `before` to what is known of it now; of an ending, the final outcome."""
    state = after.state
    body: EventBody = {
        "before": before,
        "after": word(state),
        "native": after.native,
        "attempt": after.attempts,
    }
    text, level = f"{before or 'new'} → {word(state)}", "info"
    if isinstance(state, Ended):
        outcome = after.outcome or state.outcome
        body |= {"outcome": outcome.value, "exit_code": state.exit_code, "signal": state.signal}
        text = f"{before or 'new'} → ended, {in_words(outcome).removeprefix('ended, ')}"
        level = LEVELS[outcome].value
    reason = after.why or after.reason
    if reason:
        body["reason"] = reason
        text += f" ({reason})"
    if diagnosis is not None:
        body["diagnosis"] = diagnosis
        text += f"; likely {diagnosis['cause']}" if diagnosis["cause"] != "unknown" else ""
    return Event(kind, text, ref=ref, level=level, body=body)
