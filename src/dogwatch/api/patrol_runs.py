"""What a patrol says of runs on machines that they have to themselves: one line each, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from dogwatch.clock import local_date
from dogwatch.sources.box.decisions import ROWS, filled
from dogwatch.store.interface import Store
from dogwatch.store.rows import findings
from dogwatch.text import lasting, plain

REMINDER = "box_idle"
KEY_CHANGED = "has changed: it is another machine"  # as the transport says it

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.stages import DecisionDocument
    from dogwatch.wire.documents.watch import PatrolRunDocument, PlaceDocument


def runs(jobs: Iterable[JobDocument], unreachable: Sequence[PlaceDocument]) -> list[PatrolRunDocument]:
    """Of each such run how it stands, in one line, and the rows of the decision table that hold."""
    out = {place["name"]: place for place in unreachable}
    return [_run(job, out.get(job["place"])) for job in jobs if job["box"] is not None]


def reminders(store: Store) -> list[str]:
    """What stands open of machines that cost money for nothing, until somebody acknowledges it."""
    known = {(silence.subject, silence.rule, silence.what) for silence in findings.silences(store)}
    return [
        finding.text
        for finding in findings.open_findings(store)
        if finding.rule == REMINDER and (finding.subject, finding.rule, finding.what) not in known
    ]


def lines(told: Iterable[PatrolRunDocument]) -> list[str]:
    """For people: the line of each run, and below it what is seen and what to do."""
    found = []
    for run in told:
        found.append(f"{plain(run['name'], 60)}: {run['text']}")
        found += remedies(run["decisions"])
    return found


def remedies(decisions: Iterable[DecisionDocument]) -> list[str]:
    """Two lines for each row: what is seen, results verbatim, and what to do."""
    found = []
    for row in decisions:
        found += [f"    {plain(line, 300)}" for line in row["says"].split("\n")]
        found.append(f"    do: {plain(row['do'], 400)}")
    return found


def _run(job: JobDocument, unreachable: PlaceDocument | None) -> PatrolRunDocument:
    box = job["box"]
    decisions = list(box["decisions"]) if box is not None else []
    if unreachable is not None and job["state"] != "ended":
        words = {"place": job["place"], "last": _last_confirmed(job)}
        name = "other_key" if KEY_CHANGED in (unreachable["unreachable_why"] or "") else "unreachable"
        row = filled(ROWS[name], {key: value.replace("{", "(") for key, value in words.items()})
        decisions = [{"name": row.name, "level": row.level.value, "says": row.says, "do": row.do}]
    return {"ref": job["ref"], "place": job["place"], "name": job["name"], "text": _text(job), "decisions": decisions}


def _last_confirmed(job: JobDocument) -> str:
    """When the run was last seen, and the last line that its heartbeat had then."""
    box, at = job["box"], job["confirmed_at"]
    when = "never" if at is None else local_date(datetime.fromisoformat(at).timestamp())
    line = box["last_line"] if box is not None else None
    return f"{when} ({plain(line, 120)})" if line else when


def _text(job: JobDocument) -> str:
    """`running, stage eval (2 of 3), 45 %, 12 result files, memory 40 % of its limit, "loss 0.3"`."""
    box, progress, eta = job["box"], job["progress"], job["eta"]
    parts = [job["outcome"] or job["state"] or "not polled", job["native"] or ""]
    if progress is not None and progress["fraction"] is not None and job["state"] == "running":
        parts.append(f"{100 * progress['fraction']:.0f} %")
    if eta is not None:
        parts.append(f"about {lasting(eta['remaining_seconds'])} left in this stage")
    gpus = [percent for gpu in job["gpus"] if (percent := gpu["percent"]) is not None]
    if gpus:
        parts.append(f"GPU {sum(gpus) / len(gpus):.0f} %")
    if box is not None:
        parts += _machine(job)
    return ", ".join(plain(part, 200) for part in parts if part)


def _machine(job: JobDocument) -> list[str]:
    box = job["box"]
    assert box is not None
    parts = []
    if box["results"] is not None:
        expected = f" of {box['results_expected']:,}" if box["results_expected"] is not None else ""
        parts.append(f"{box['results']:,}{expected} result file{'' if box['results'] == 1 and not expected else 's'}")
    if box["memory_limit_bytes"] and box["memory_used_bytes"] is not None:
        parts.append(f"memory {100 * box['memory_used_bytes'] / box['memory_limit_bytes']:.0f} % of its limit")
    low = min((disk["free"] / disk["total"] for disk in job["disks"] if disk["total"]), default=None)
    if low is not None:
        parts.append(f"disk {100 * low:.0f} % free")
    if box["last_line"]:
        parts.append(f'"{plain(box["last_line"], 80)}"')
    return parts
