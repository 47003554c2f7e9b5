"""lines(): the same knowledge without a terminal, one plain line per fact. Pure, no Rich.

It keeps no memory of its own: what to say is the difference between two views, and the pace of progress
lines comes from crossing a boundary of time or share, so any two callers print the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.tui import phrases, words
from dogwatch.tui.summary import summary
from dogwatch.tui.view import View

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import FindingDocument, JobDocument
    from dogwatch.wire.documents.watch import EventDocument

EVERY_SECONDS = 30.0
EVERY_SHARE = 0.1


def lines(previous: View | None, view: View, now: float) -> list[str]:
    """What is new in `view` since `previous`, each line with its local time in front."""
    fresh = _new_events(previous, view)
    said: list[str] = []
    for event in fresh:
        mark = words.level(str(event.get("level"))) if event.get("level") in ("critical", "warning") else ""
        said.append(_line(event.get("at"), now, f"{mark.strip()} {phrases.event(event, view.jobs)}".strip()))
    said += [_line(now, now, text) for text in _watch(previous, view, fresh, now)]
    before = {job.get("ref"): job for job in previous.jobs} if previous else {}
    for job in view.jobs:
        said += [_line(now, now, text) for text in _job(before.get(job.get("ref")), job, view, fresh, now)]
    return said


def _line(at: str | float | None, now: float, text: str) -> str:
    return f"{words.clock(at, now, seconds=True)}  {text}"


def _new_events(previous: View | None, view: View) -> list[EventDocument]:
    last = max((event.get("seq") or 0 for event in previous.events), default=0) if previous else 0
    return sorted((e for e in view.events if (e.get("seq") or 0) > last), key=lambda e: e.get("seq") or 0)


def _watch(previous: View | None, view: View, fresh: Sequence[EventDocument], now: float) -> list[str]:
    """Whether somebody looks and every place answers, whenever that changes and no event has said so."""
    said = []
    alive, was_alive = bool(view.watch.get("alive")), bool(previous.watch.get("alive")) if previous else True
    if alive != was_alive and not all(phrases.is_ended(job) for job in view.jobs):
        said.append(phrases.confirmed(view, now)[0] if not alive else "a watcher is running again")
    told = {event.get("place") for event in fresh if event.get("kind") == "place.unreachable"}
    was_unreachable = {p.get("name") for p in previous.places if p.get("unreachable_since")} if previous else set()
    unreachable_hosts = [
        p for p in view.places if p.get("unreachable_since") and p.get("name") not in told | was_unreachable
    ]
    return said + [f"!! {text}" for text in phrases.unreachable_hosts(unreachable_hosts, now)]


def _job(
    before: JobDocument | None, job: JobDocument, view: View, fresh: Sequence[EventDocument], now: float
) -> list[str]:
    name = f"{phrases.title(job)}: " if len(view.jobs) > 1 else ""
    said = []
    if before is None and not _is_over(job):
        ref = phrases.tidy(job.get("ref") or "?", 120)
        said.append(f"{phrases.title(job)} ({ref}): {phrases.state_as_known(job, now)}")
    elif job.get("unreachable") and not (before is not None and before.get("unreachable")):
        said.append(f"!! {phrases.title(job)}: {phrases.unreachable(job, now)}")
    said += [f"{name}{text}" for text in _findings(before, job, fresh)]
    if _is_over(job):
        return said + (summary(job, now) if before is None or not _is_over(before) else [])
    if job.get("state") == "running" and _due(before, job):
        said.append(name + _progress(job, now))
    return said


def _is_over(job: JobDocument) -> bool:
    """Ended, with an outcome that is decided."""
    return phrases.is_ended(job) and job.get("outcome") is not None


def _findings(before: JobDocument | None, job: JobDocument, fresh: Sequence[EventDocument]) -> list[str]:
    """Findings that opened, unless an event of this batch has already said so."""
    old = {_identity(finding) for finding in (before.get("findings") or () if before is not None else ())}
    told = " ".join(
        str(e.get("text"))
        for e in fresh
        if e.get("kind") in ("finding.opened", "finding.escalated") and e.get("ref") == job.get("ref")
    )
    return [
        f"{words.level(str(finding.get('level'))).strip()} {phrases.finding(finding)}"
        for _, finding in phrases.findings([job])
        if _identity(finding) not in old and str(finding.get("text")) not in told
    ]


def _identity(finding: FindingDocument) -> tuple[object, object]:
    return finding.get("rule"), finding.get("since")


def _due(before: JobDocument | None, job: JobDocument) -> bool:
    """Due at first sight, at each tenth, and in each half minute in which something was seen."""
    if before is None or before.get("state") != "running":
        return bool(job.get("progress"))
    return _half_minute(job) != _half_minute(before) or _tenth(job) != _tenth(before)


def _half_minute(job: JobDocument) -> int:
    return int((words.moment(job.get("confirmed_at")) or 0.0) // EVERY_SECONDS)


def _tenth(job: JobDocument) -> int:
    progress = job.get("progress")
    return int(((progress and progress.get("fraction")) or 0.0) / EVERY_SHARE + 1e-9)


def _progress(job: JobDocument, now: float) -> str:
    """How far, how fast, until when; or at least that it runs and with how many workers."""
    progress = job.get("progress")
    parts = []
    if progress and progress.get("step") is not None:
        share = progress.get("fraction")
        counts = phrases.counts(progress, phrases.unit(job))
        parts.append(f"{words.percent(share)}, {counts}" if share is not None else counts)
        parts += [phrases.throughput(job), phrases.eta(job, now)]
    else:
        parts.append(phrases.state(job, now))
    workers = job.get("workers") or ()
    if workers:
        at_work = sum(w.get("doing") in phrases.AT_WORK and not w.get("outcome") for w in workers)
        parts.append(f"{at_work} of {words.plural(len(workers), 'worker')} running")
    return "; ".join(part for part in parts if part)
