"""Said: what happened to a job, as the events of its history."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dogwatch.model import Change, Ended, Finding, Missing, Running
from dogwatch.model.state import word
from dogwatch.store.tick import Event


def finding_event(kind: str, finding: Finding) -> Event:
    place = finding.subject.removeprefix("place:") if finding.subject.startswith("place:") else None
    level = finding.level.value if kind == "finding.opened" else "info"
    text = finding.text if kind == "finding.opened" else f"resolved: {finding.text}"
    body = {"rule": finding.rule, "what": finding.what}
    return Event(kind, text, ref=None if place else finding.subject, place=place, level=level, body=body)


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


def change_event(change: Change, diagnosis: Mapping[str, Any] | None) -> Event:
    before, after = change.before.state, change.after.state
    body: dict[str, Any] = {
        "before": word(before),
        "after": word(after),
        "native": change.after.native,
        "attempt": change.after.attempts,
    }
    text = f"{word(before) or 'new'} → {word(after)}"
    level = "info"
    if isinstance(after, Ended):
        body |= {"outcome": after.outcome.value, "exit_code": after.exit_code, "signal": after.signal}
        text = f"{word(before) or 'new'} → ended, {after.outcome.value.replace('_', ' ')}"
        level = {"succeeded": "info", "unknown": "warning"}.get(after.outcome.value, "critical")
    if change.after.reason:
        body["reason"] = change.after.reason
        text += f" ({change.after.reason})"
    if diagnosis is not None:
        body["diagnosis"] = dict(diagnosis)
        text += f"; likely {diagnosis['cause']}" if diagnosis["cause"] != "unknown" else ""
    kind = "job.attempt" if is_new_attempt(change) else "job.state"
    return Event(kind, text, ref=change.ref, level=level, body=body)
