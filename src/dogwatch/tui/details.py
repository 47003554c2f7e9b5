"""details(): everything known of one job, as plain lines for `dogwatch status`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.tui import phrases, stages, words
from dogwatch.tui.summary import summary

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.machine import WorkerDocument
    from dogwatch.wire.documents.transfer import TransferDocument
    from dogwatch.wire.documents.watch import EventDocument

_MOST_FILES = 8
_MOST_GPUS = 16
_NOTE = 2000


def details(
    job: JobDocument, events: Sequence[EventDocument], now: float, noted: Sequence[EventDocument] = ()
) -> list[str]:
    """One page: the closing summary of an ended job, or how a living one stands, what people wrote of it, and what
    happened last."""
    lines = summary(job, now) if phrases.is_ended(job) else _standing(job, now)
    if noted:
        lines.append("  notes")
    for note in noted:
        lines.append(f"    {words.clock(note['at'], now)}  {phrases.tidy(note['body'].get('note') or '?', _NOTE)}")
    told = {note["seq"] for note in noted}
    lately = [event for event in events if event["seq"] not in told]
    if lately:
        lines.append("  lately")
    for event in lately:
        lines.append(f"    {words.clock(event['at'], now, seconds=True)}  {phrases.event(event, [job])}")
    return lines


def transfer(told: TransferDocument, now: float) -> str:
    """How the last fetch of a job stands."""
    name = phrases.tidy(told["ref"].partition(":")[2] or told["ref"], 80)
    share = f"{words.size(told['done_bytes'])} of {words.size(told['bytes'])}"
    to = phrases.tidy(told["target"], 200)
    match told["state"]:
        case "done":
            at = words.clock(told["ended"], now) if told["ended"] else "?"
            return f"{told['done_files']:,} files, {words.size(told['done_bytes'])}, verified {at}, in {to}"
        case "running":
            return f"running: {share} to {to}"
        case "interrupted":
            return f"interrupted at {share}; to resume: dogwatch fetch {name}"
        case _:
            return f"not everything was fetched to {to} ({phrases.tidy(told['detail'] or '?', 200)})"


def _standing(job: JobDocument, now: float) -> list[str]:
    progress = job.get("progress")
    rows = [("confirmed", _evidence(job, now))]
    if job.get("description"):
        rows.append(("for", phrases.tidy(job["description"])))
    rows += stages.rows(job)
    rows += [("node", phrases.where(job)), ("limit", phrases.time_limit(job, now)), ("used", phrases.efficiency(job))]
    rows += [("requeued", text) for text in phrases.attempts(job)]
    if progress:
        share = words.percent(progress["fraction"]) if progress.get("fraction") is not None else ""
        rows.append(("progress", f"{phrases.counts(progress, phrases.unit(job))} {share}".rstrip()))
        rows.append(("speed", phrases.throughput(job)))
        rows.append(("eta", phrases.eta(job, now)))
    rows += [(f"worker {worker['index']}", _worker(worker)) for worker in job.get("workers") or ()]
    rows += [(f"GPU {gpu['index']}", phrases.gpu(gpu)) for gpu in (job.get("gpus") or ())[:_MOST_GPUS]]
    rows.append(("launch", phrases.launch(job)))
    rows += _verdict(job, now)
    files = job.get("outputs") or ()
    rows += [(phrases.base(file["path"]), phrases.output_size(file)) for file in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        rows.append(("outputs", phrases.output_total(files)))
    if saved := job.get("checkpoints"):
        rows.append(("checkpoints", phrases.checkpoints(saved, now, confirmed_at=job.get("confirmed_at"))))
        rows.append(("resume from", phrases.resume(saved, now)))
    rows += [("outputs", f"nothing matches {phrases.tidy(glob)} yet") for glob in job.get("outputs_missing") or ()]
    rows += [("disk", phrases.disk(disk)) for disk in job.get("disks") or ()]
    rows += [(str(found.get("level")), phrases.finding(found)) for _, found in phrases.findings([job])]
    width = max(len(label) for label, _ in rows)
    head = f"{phrases.title(job)} ({phrases.tidy(job.get('ref') or '?', 120)}): {phrases.state_as_known(job, now)}"
    return [head, *(f"  {label:<{width}}  {text}".rstrip() for label, text in rows if text)]


def _verdict(job: JobDocument, now: float) -> list[tuple[str, str]]:
    """The verdict and what each piece of evidence says, where it is not simply working."""
    found = job.get("verdict")
    if not found or not phrases.verdict_word(job):
        return []
    allowed = found.get("silence_limit_seconds")
    after = f", silence limit {words.span(allowed)}" if allowed is not None else ""
    rows = [("verdict", f"{phrases.verdict_word(job)} for {words.span(words.since(found.get('since'), now))}{after}")]
    for evidence in found.get("evidence") or ():
        rows.append(("", f"{phrases.tidy(evidence.get('by') or '?', 20)}: {phrases.tidy(evidence.get('says') or '?')}"))
    return rows


def _evidence(job: JobDocument, now: float) -> str:
    if not job.get("confirmed_at"):
        return "never (not polled yet)"
    said = "; ".join(
        f"{phrases.evidence_source(p)}: {phrases.tidy(p.get('says') or '?')}" for p in job.get("evidence") or ()
    )
    return f"{words.ago(job['confirmed_at'], now)}, by {said}" if said else words.ago(job["confirmed_at"], now)


def _worker(worker: WorkerDocument) -> str:
    doing = "running" if worker.get("doing") == "sleeping" else worker.get("doing")
    parts = [f"pid {worker['pid']}" if worker.get("pid") else "", phrases.tidy(doing or "?", 20)]
    parts.append(f"GPU {phrases.tidy(worker['gpu'], 40)}" if worker.get("gpu") else "")
    parts.append(f"CPU {worker['cpu_percent']:.0f} %" if worker.get("cpu_percent") is not None else "")
    parts.append(words.size(worker["memory_bytes"]) if worker.get("memory_bytes") else "")
    parts.append(f"children {worker['children']}" if worker.get("children") else "")
    parts.append(f"up {words.span(worker['uptime_seconds'])}" if worker.get("uptime_seconds") is not None else "")
    parts.append(f"{words.figure(worker['rate'])}/s" if worker.get("rate") is not None else "")
    parts.append(phrases.exit_words(worker))
    parts.append(phrases.tidy(worker.get("reason") or ""))
    return ", ".join(part for part in parts if part)
