"""Moments: a job's history as spans of time: its attempts, what went wrong and for how long, and when nobody looked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dogwatch.clock import recorded, stamp

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.report import GapDocument, IncidentDocument, ReportAttemptDocument
    from dogwatch.wire.documents.watch import EventDocument

SHORTEST = 5.0  # whoever takes over from another watcher leaves a moment between


@dataclass(slots=True)
class Attempt:
    """One execution: from when to when it ran, and how it ended; an open one ends with what is known."""

    number: int
    start: float
    end: float
    outcome: str | None = None
    nodes: str | None = None

    def document(self) -> ReportAttemptDocument:
        return {
            "attempt": self.number,
            "began": recorded(self.start),
            "ended": None if self.outcome is None else stamp(self.end),
            "seconds": round(self.end - self.start, 1),
            "outcome": self.outcome,
            "nodes": self.nodes,
        }


def seconds_of(at: str | None) -> float | None:
    """Unix seconds of a time as documents have it."""
    try:
        return None if at is None else datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def attempts_of(job: JobDocument, history: Iterable[EventDocument]) -> list[Attempt]:
    """The attempts by the place's own record of them, where it has one, else by the history. Of the first and the last
    the place knows better than we, who only looked."""
    if recorded := _recorded(job):
        return recorded
    found: list[Attempt] = []
    for event in history:
        at, body = seconds_of(event["at"]) or 0.0, event["body"]
        if event["kind"] not in ("job.state", "job.attempt"):
            continue
        number, state = int(body.get("attempt") or 1), body.get("after")
        begun = found and found[-1].number == number and found[-1].outcome is None
        if state == "running" and not begun:
            found.append(Attempt(number, at, at))
        elif state == "ended":
            if not begun:  # it came and went between two polls
                found.append(Attempt(number, at, at))
            found[-1].end, found[-1].outcome = at, str(body.get("outcome") or "unknown")
    if not found:
        return []
    started, ended = seconds_of(job["started"]), job["state"] == "ended"
    floor = found[-2].end if len(found) > 1 else float("-inf")
    if started is not None and floor <= started:
        found[-1].start = min(started, found[-1].start)
    last = seconds_of(job["since"] if ended else job["confirmed_at"])
    if last is not None:
        found[-1].end = max(found[-1].start, last)
    return found


def _recorded(job: JobDocument) -> list[Attempt]:
    """All attempts as the job document tells them; nothing where there was only one."""
    rows = job.get("history") or ()
    if len(rows) < 2:
        return []
    found = []
    for row in rows:
        began, ended = seconds_of(row["began"]), seconds_of(row["ended"])
        until = ended if ended is not None else seconds_of(job["confirmed_at"])
        if began is None or until is None:
            return []
        found.append(Attempt(row["attempt"], began, max(began, until), row["how"], row["nodes"]))
    return found


class Moments:
    """What happened to a job on a place between two moments."""

    def __init__(self, place: str, began: float | None, until: float) -> None:
        self._place, self._began, self._until = place, began or 0.0, until

    def incidents(self, history: Iterable[EventDocument]) -> list[IncidentDocument]:
        """Findings with when they ended, restarts, and lines of its logs that were not read; oldest first."""
        out = []
        open_now: dict[tuple[str, str], IncidentDocument] = {}
        for event in history:
            body = event["body"]
            known = (str(body.get("rule")), str(body.get("what") or ""))
            if event["kind"] == "finding.opened":
                row = _incident(event, str(body.get("rule")))
                open_now[known] = row
                out.append(row)
            elif event["kind"] == "finding.escalated" and known in open_now:
                open_now[known]["level"] = event["level"]
            elif event["kind"] in ("finding.resolved", "finding.closed") and known in open_now:
                self._close(open_now.pop(known), str(event["at"]), str(body.get("how", "resolved")))
            elif event["kind"] == "job.attempt":
                out.append(_incident(event, "restart"))
            elif event["kind"] == "log.gap":
                out.append(_incident(event, "log_gap"))
        return out

    def gaps(self, history: Iterable[EventDocument]) -> list[GapDocument]:
        """When nobody watched, and when its place did not answer, as far as that was while it lasted."""
        out: list[GapDocument] = []
        unreachable: tuple[float, str] | None = None
        for event in history:
            at, body = seconds_of(event["at"]) or 0.0, event["body"]
            if event["kind"] == "watch.gap":
                seconds = body.get("seconds")
                passed = seconds if isinstance(seconds, int | float) else 0.0
                self._add(out, seconds_of(body.get("from")) or at - passed, at, str(event["text"]))
            elif event["place"] != self._place:
                continue
            elif event["kind"] == "place.unreachable":
                unreachable = unreachable or (at, str(event["text"]))
            elif unreachable is not None:
                self._add(out, unreachable[0], at, unreachable[1])
                unreachable = None
        if unreachable is not None:
            self._add(out, unreachable[0], self._until, unreachable[1])
        return out

    def _add(self, out: list[GapDocument], start: float, end: float, text: str) -> None:
        start, end = max(start, self._began), min(end, self._until)
        if end - start >= SHORTEST:
            out.append({"from": recorded(start), "to": recorded(end), "seconds": round(end - start, 1), "text": text})

    def _close(self, row: IncidentDocument, at: str, how: str) -> None:
        began, ended = seconds_of(row["at"]), seconds_of(at)
        row["until"], row["closed"] = at, how
        row["seconds"] = None if began is None or ended is None else round(ended - began, 1)


def _incident(event: EventDocument, rule: str) -> IncidentDocument:
    return {
        "rule": rule,
        "at": event["at"],
        "level": event["level"],
        "text": event["text"],
        "until": None,
        "seconds": None,
        "closed": None,
    }
