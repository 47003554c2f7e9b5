"""Lookup: what one answer says of ids that somebody wants to register: whose they are, or that Slurm knows none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dogwatch.model import Job
from dogwatch.sources.interface import FoundJob, Lookup
from dogwatch.sources.slurm import requests, source
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.accounting import parse as parse_accounting
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.queue import parse as parse_queue


def request(ids: Collection[str], at: float) -> dict[str, Any]:
    """The section to ask; queue and accounting are asked once for all ids, and the controller for its name."""
    return source.ask([_job(one) for one in ids], {}, at)


def trouble(answer: Mapping[str, Any], ids: Collection[str]) -> str | None:
    """Why the answer says nothing, in one sentence; None when it does."""
    if not answer.get("ok"):
        return str(answer.get("why") or "no reason given")
    return source.trouble(answer, [_job(one) for one in ids])


def read(answer: Mapping[str, Any], ids: Collection[str], user: str | None = None) -> Lookup:
    """What an answer without trouble says; jobs of other people than `user` do not count."""
    rows = parse_queue(str((requests.ran(answer, requests.QUEUE) or {}).get("out") or ""), ids) or {}
    run: Mapping[str, Any] = requests.ran(answer, requests.ACCOUNTING) or {}
    answered = run.get("rc") == 0 and not run.get("why")
    records = (parse_accounting(str(run.get("out") or ""), ids) if answered else None) or {}
    found = {}
    for one in ids:
        line = _line(rows.get(one, ()), records.get(one, ()), user)
        if line is not None:
            queued = isinstance(line, Row)
            facts = (line.name, line.user, line.submit, line.native, line.nodes, line.workdir)
            found[one] = FoundJob(*facts, queued)
    missing = [one for one in ids if one not in found]
    unsure = "" if answered or not missing or source.without_accounting(answer) else "the accounting does not answer"
    return Lookup(found, [] if unsure else missing, unsure, requests.cluster(answer).name)


def _line(rows: Sequence[Row], records: Sequence[Record], user: str | None) -> Row | Record | None:
    """The queue's word, else the newest record."""
    ours = [row for row in rows if user is None or row.user == user]
    if ours:
        return next((row for row in ours if row.active), ours[0])
    told = [record for record in records if user is None or record.user == user]
    return max(told, key=lambda record: record.submit or 0.0, default=None)


def _job(job_id: str) -> Job:
    return Job(ref=job_id, place="", source="slurm", id=job_id, name=job_id)
