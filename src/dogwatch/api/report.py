"""Report: one job from its beginning to its end, or so far: time, items, what it used, what went wrong, what it cost.

Everything comes from the store; nobody is asked anything, so a report of a job on an unreachable place is as good as
any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dogwatch.api import queries
from dogwatch.api.history import Moments, attempts_of, seconds_of
from dogwatch.clock import recorded, stamp
from dogwatch.redaction import redacted_document
from dogwatch.store.interface import Store
from dogwatch.store.rows.readings import readings_of

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.machine import EfficiencyDocument, SpentDocument
    from dogwatch.wire.documents.report import (
        CostDocument,
        EnergyDocument,
        GpuUseDocument,
        ItemsDocument,
        ReadingDocument,
        ReportDocument,
        TimeDocument,
    )
    from dogwatch.wire.documents.watch import EventDocument

MOST_INCIDENTS = 500
_STATES = ("job.added", "job.state", "job.attempt")
_GAPS = ("watch.gap", "place.unreachable", "place.answered")
_FINDINGS = ("finding.opened", "finding.escalated", "finding.resolved", "finding.closed", "log.gap")


def document(store: Store, ref: str, now: float, price: float | None = None) -> ReportDocument:
    """The report of a job, without secrets; `price` is what one GPU costs in an hour, in whatever currency."""
    made = _document(store, ref, now, price)
    return cast("ReportDocument", {**redacted_document(made), "ref": made["ref"]})


def _document(store: Store, ref: str, now: float, price: float | None) -> ReportDocument:
    job = queries.documents(store, [ref])[0]
    history = _since_added(queries.events_of_kinds(store, (*_STATES, *_FINDINGS), ref))
    attempts = attempts_of(job, history)
    over = job["state"] == "ended"
    until = seconds_of(job["since"] if over else job["confirmed_at"]) or now
    began = attempts[0].start if attempts else seconds_of(job["started"]) or seconds_of(job["submitted"])
    ran = sum(attempt.end - attempt.start for attempt in attempts)
    moments = Moments(job["place"], began, until)
    gaps = moments.gaps(queries.events_of_kinds(store, _GAPS))
    return {
        "ref": job["ref"],
        "name": job["name"],
        "description": job["description"],
        "place": job["place"],
        "source": job["source"],
        "state": job["state"],
        "outcome": job["outcome"],
        "exit_code": job["exit_code"],
        "signal": job["signal"],
        "reason": job["reason"],
        "made_at": recorded(now),
        "so_far": not over,
        "time": _time(job, began, until if began is not None else None, ran, len(attempts)),
        "items": _items(job, ran),
        "memory_peak_bytes": _most(_spent(job).get("memory_peak_bytes"), _used(job).get("memory_bytes")),
        "gpus": _gpus(job),
        "energy": _energy(job),
        "cost": _cost(job, ran, price),
        "checkpoints": job["checkpoints"],
        "outputs": {"count": len(job["outputs"]), "bytes": sum(one["size"] for one in job["outputs"])},
        "attempts": [attempt.document() for attempt in attempts],
        "incidents": moments.incidents(history)[-MOST_INCIDENTS:],
        "gaps": gaps,
        "diagnosis": job["diagnosis"],
        "verified": job["verified"],
        "checks": job["checks"],
        "evidence": job["evidence"],
        "scores": job["scores"],
        "readings": [cast("ReadingDocument", {**row, "at": recorded(row["at"])}) for row in readings_of(store, ref)],
    }


def _since_added(history: Sequence[EventDocument]) -> list[EventDocument]:
    """Without what was said of the ref before it was taken under watch anew."""
    added = [at for at, event in enumerate(history) if event["kind"] == "job.added"]
    return list(history[added[-1] :] if added else history)


def _time(job: JobDocument, began: float | None, until: float | None, ran: float, attempts: int) -> TimeDocument:
    submitted = seconds_of(job["submitted"])
    whole = None if began is None or until is None else max(0.0, until - began)
    spent = job["spent"]
    return {
        "submitted": job["submitted"],
        "began": stamp(began),
        "ended": job["since"] if job["state"] == "ended" else None,
        "confirmed_at": job["confirmed_at"],
        "waited_seconds": None if submitted is None or began is None else round(max(0.0, began - submitted), 1),
        "total_seconds": None if whole is None else round(whole, 1),
        "running_seconds": round(ran, 1) if attempts else None,
        "watched_seconds": spent.get("watched_seconds") if spent else None,
        "attempts": job["attempts"],
    }


def _items(job: JobDocument, ran: float) -> ItemsDocument | None:
    progress = job["progress"]
    if not progress:
        return None
    step, average = progress["step"], progress["rate_average"]
    if average is None and step is not None and ran > 0 and job["state"] == "ended":
        average = step / ran
    return {
        "step": step,
        "total": progress["total"],
        "unit": progress["unit"],
        "fraction": progress["fraction"],
        "rate_average": average,
    }


def _gpus(job: JobDocument) -> GpuUseDocument | None:
    """What its GPUs did, by what looks saw; where they saw nothing, by the accounting."""
    spent, used = _spent(job), _used(job)
    tenths, count = spent.get("gpu_tenths_seconds") or [], gpu_count(job)
    whole, idle = sum(tenths), spent.get("gpu_idle_seconds") or 0.0
    mean = (spent.get("gpu_busy_seconds") or 0.0) / whole if whole else _share(used.get("gpu_percent"))
    memory = _most(spent.get("gpu_memory_peak_bytes"), used.get("gpu_memory_bytes"))
    if count is None and mean is None and memory is None:
        return None
    return {
        "count": count,
        "seconds": round(whole, 1) if whole else None,
        "used_mean": None if mean is None else round(mean, 4),
        "tenths": [round(seconds / whole, 4) for seconds in tenths] if whole else None,
        "idle_seconds": idle if whole else None,
        "idle_fraction": round(idle / whole, 4) if whole else None,
        "memory_peak_bytes": memory,
    }


def _energy(job: JobDocument) -> EnergyDocument | None:
    """Only what was measured; how much of the run that is, is said beside it."""
    spent = _spent(job)
    joules = spent.get("energy_joules")
    if joules is None:
        return None
    return {"joules": joules, "seconds": spent.get("energy_seconds")}


def _cost(job: JobDocument, ran: float, price: float | None) -> CostDocument | None:
    if price is None:
        return None
    count, seconds = gpu_count(job), _used(job).get("gpu_seconds")
    if seconds is None and count is not None and ran > 0:
        seconds = count * ran
    hours = None if seconds is None else seconds / 3600
    return {
        "price_per_gpu_hour": price,
        "gpu_hours": None if hours is None else round(hours, 4),
        "amount": None if hours is None else round(hours * price, 4),
    }


def gpu_count(job: JobDocument) -> int | None:
    """How many GPUs it has: by the accounting, by what was given to its workers, else by what looks saw."""
    given = {name.strip() for worker in job["workers"] for name in str(worker.get("gpu") or "").split(",")} - {""}
    counted: int | None = _used(job).get("gpus") or len(given) or _spent(job).get("gpus")
    return counted or None


def _spent(job: JobDocument) -> SpentDocument:
    return job["spent"] or cast("SpentDocument", {})


def _used(job: JobDocument) -> EfficiencyDocument:
    return job["efficiency"] or cast("EfficiencyDocument", {})


def _most(*amounts: float | None) -> float | None:
    return max((amount for amount in amounts if amount is not None), default=None)


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100
