"""One job in the handbook: what runs, how it stands, what was tried, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.api import job_note, report
from dogwatch.api.conditions import stages
from dogwatch.api.handbook.advice import Advice, box_of
from dogwatch.api.handbook.launched import launched
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs as job_rows
from dogwatch.text import lasting

if TYPE_CHECKING:
    from dogwatch.wire.documents.handbook import HandbookJobDocument
    from dogwatch.wire.documents.job import JobDocument

MOST_LOGS, MOST_REMARKS, MOST_ATTEMPTS = 16, 50, 20


def describe(store: Store, job: JobDocument, now: float, price: float | None, advice: Advice) -> HandbookJobDocument:
    """See the module."""
    how = launched(store, job_rows.track_of(store, job["ref"]))
    whole = report.document(store, job["ref"], now, price)
    box = box_of(job)
    return {
        "ref": job["ref"],
        "name": job["name"],
        "place": job["place"],
        "description": job["description"],
        "state": _state(job),
        "known_at": job["confirmed_at"],
        "reason": job["reason"],
        "progress": _progress(job),
        "command": how.command if how is not None else _processes(job),
        "directory": (box and box["directory"]) or (how.cwd if how is not None else None),
        "stages": stages(job),
        "next": [f"{row['says']}: {row['do']}" for row in (box["decisions"] if box is not None else ())],
        "commands": advice.of(job, how),
        "logs": _logs(job),
        "checkpoint": None if job["checkpoints"] is None else job["checkpoints"]["intact"],
        "attempts": whole["attempts"][-MOST_ATTEMPTS:],
        "remarks": [
            {"at": event["at"], "text": event["body"].get("note", "")}
            for event in job_note.of(store, job["ref"])[-MOST_REMARKS:]
        ],
        "alerts": [f"{found['level']}: {found['text']}" for found in job["findings"]],
        "cost": whole["cost"],
    }


def _state(job: JobDocument) -> str:
    if job["state"] is None:
        return "not polled yet"
    if job["state"] != "ended":
        lost = f"; {job['place']} does not answer" if job["unreachable"] else ""
        return f"{job['state']}{f', {native}' if (native := job['native']) else ''}{lost}"
    code = f" (exit code {job['exit_code']})" if job["exit_code"] is not None else ""
    return f"ended, {(job['outcome'] or 'being checked').replace('_', ' ')}{code}"


def _progress(job: JobDocument) -> str | None:
    progress, eta = job["progress"], job["eta"]
    if progress is None or progress["step"] is None:
        return None
    total = "" if progress["total"] is None else f" of {progress['total']:,.10g}"
    share = "" if progress["fraction"] is None else f" ({progress['fraction']:.0%})"
    left = "" if eta is None else f", about {lasting(eta['remaining_seconds'])} left"
    return f"{progress['step']:,.10g}{total} {progress['unit']}{share}{left}"


def _processes(job: JobDocument) -> str | None:
    """The command lines of its workers, where somebody else started them."""
    told = [str(command) for worker in job["workers"] if (command := worker.get("command"))]
    return "; ".join(dict.fromkeys(told)) or None


def _logs(job: JobDocument) -> list[str]:
    workers: Sequence[str | None] = [worker.get("log") for worker in job["workers"]]
    named = [*job["expect"]["logs"], *job["logs"], *workers, job["stdout"]]
    return [path for path in dict.fromkeys(named) if path][:MOST_LOGS]
