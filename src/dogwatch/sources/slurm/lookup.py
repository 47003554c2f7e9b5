"""Lookup: what one answer says of ids that somebody wants to register: whose they are, or that Slurm knows none."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dogwatch.model import Job
from dogwatch.sources.interface import FoundJob, Lookup
from dogwatch.sources.slurm import requests, source
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.accounting import parse as parse_accounting
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.queue import parse as parse_queue
from dogwatch.wire.commands import CommandsSection
from dogwatch.wire.questions import Questions


def request(ids: Collection[str], at: float) -> Questions:
    """The section to ask; queue and accounting are asked once for all ids, and the controller for its name."""
    return source.ask([_job(job_id) for job_id in ids], {}, at)


def trouble(answer: CommandsSection, ids: Collection[str]) -> str | None:
    """Why the answer says nothing, in one sentence; None when it does."""
    if not answer.ok:
        return answer.why or "no reason given"
    return source.trouble(answer, [_job(job_id) for job_id in ids])


def read(answer: CommandsSection, ids: Collection[str], user: str | None = None) -> Lookup:
    """What an answer without trouble says; jobs of other people than `user` do not count."""
    queue_run, accounting_run = (answer.ran.get(name) for name in (requests.QUEUE, requests.ACCOUNTING))
    rows = (parse_queue(queue_run.out, ids) if queue_run is not None else None) or {}
    answered = accounting_run is not None and accounting_run.rc == 0 and not accounting_run.why
    records = (parse_accounting(accounting_run.out, ids) if accounting_run is not None and answered else None) or {}
    found = {}
    for job_id in ids:
        line = _line(rows.get(job_id, ()), records.get(job_id, ()), user)
        if line is not None:
            facts = (line.name, line.user, line.submit, line.native, line.nodes, line.workdir)
            found[job_id] = FoundJob(*facts, queued=isinstance(line, Row))
    missing = [job_id for job_id in ids if job_id not in found]
    unsure = "" if answered or not missing or source.without_accounting(answer) else "the accounting does not answer"
    return Lookup(found, [] if unsure else missing, unsure, requests.cluster(answer).name)


def _line(rows: Sequence[Row], records: Sequence[Record], user: str | None) -> Row | Record | None:
    """The queue's word, else the newest record."""
    ours = [row for row in rows if user is None or row.user == user]
    if ours:
        return next((row for row in ours if row.active), ours[0])
    own_records = [record for record in records if user is None or record.user == user]
    return max(own_records, key=lambda record: record.submit or 0.0, default=None)


def _job(job_id: str) -> Job:
    return Job(ref=job_id, place="", source="slurm", id=job_id, name=job_id)
