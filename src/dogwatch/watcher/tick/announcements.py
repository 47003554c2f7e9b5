"""Announcements: which changes and findings people are told of, each once."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dogwatch.model import Closing, Finding, Known, Level, Notification, closing, notification_key
from dogwatch.model.outcome import LEVELS, in_words
from dogwatch.store.rows.tick import Event

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

BY_OTHERS = "cancelled_by_others"  # says itself that the job has ended


def notifications(
    endings: Iterable[tuple[str, Known]],
    opened: Iterable[Finding],
    resolved: Iterable[Finding],
    at: float,
    diagnoses: Mapping[str, DiagnosisDocument] | None = None,
) -> list[Notification]:
    """What this tick has to say. Bad endings come as findings, so only those that alarm nobody are said as such; what
    is known of their cause goes with them."""
    said = [
        _with_cause(
            _notification(one.subject, one.rule, one.what, one.level, one.text, at), (diagnoses or {}).get(one.subject)
        )
        for one in opened
    ]
    said += [closing(finding, Closing.RESOLVED, at) for finding in resolved]
    taken = {finding.subject for finding in opened if finding.rule == BY_OTHERS}
    for ref, known in endings:
        outcome = known.outcome
        if outcome is not None and LEVELS[outcome] is Level.INFO and ref not in taken:
            reason = known.why or known.reason
            text = in_words(outcome) + (f": {reason}" if reason else "")
            said.append(_notification(ref, "ended", known.attempt, Level.INFO, text, at))
    return said


def escalation(finding: Finding, at: float, diagnosis: DiagnosisDocument | None = None) -> Notification:
    """That a finding matters more than was said: once for each level, however often it goes up and down. It began
    when it began."""
    parts = (finding.subject, finding.rule, finding.what, f"escalated to {finding.level.value}", repr(finding.opened))
    begun = finding.opened or at
    notification = Notification(
        notification_key(*parts), finding.subject, finding.level, finding.text, finding.rule, finding.what, begun
    )
    return _with_cause(notification, diagnosis)


def _with_cause(notification: Notification, diagnosis: DiagnosisDocument | None) -> Notification:
    """A critical notice with the likeliest cause, the line that shows it and what to do."""
    if diagnosis is None or notification.level is not Level.CRITICAL or diagnosis["cause"] == "unknown":
        return notification
    why = str(diagnosis["title"])
    for quote in diagnosis["evidence"][:1]:
        where = f" ({os.path.basename(quote['file'])}:{quote['line']})" if quote["file"] and quote["line"] else ""
        why += f": {quote['text']}{where}"
    return replace(notification, why=why, remedy="; ".join(diagnosis["advice"][:1]))


MOMENTS = {"launch.verified": "started", "progress.milestone": "milestone", "checkpoint.saved": "checkpoint"}


def moments(events: Iterable[Event], at: float) -> list[Notification]:
    """Good news on the way, for whoever asked for it."""
    told = ((event, MOMENTS.get(event.kind)) for event in events)
    return [
        _notification(event.ref, rule, event.text, Level.INFO, event.text, at)
        for event, rule in told
        if rule and event.ref
    ]


def _notification(subject: str, rule: str, what: str, level: Level, text: str, at: float) -> Notification:
    return Notification(notification_key(subject, rule, what, repr(at)), subject, level, text, rule, what, at)
