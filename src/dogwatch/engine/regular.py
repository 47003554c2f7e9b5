"""What is said by the clock and not by a change: that something still stands, that flapping has ended, a digest, how
far jobs are. Each has a key made of what it is about and of its time, so that a restart never says it twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from dogwatch.engine.alerting import FLAP_REST
from dogwatch.model import Level, Notice
from dogwatch.store.findings import OpenFinding

PROGRESS_EVERY = 1800.0
GOOD, NAMED = "succeeded", 8


def key(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def repeats(standing: Iterable[OpenFinding], now: float, every: float) -> Iterator[Notice]:
    """Critical findings that have stood for another so many hours. What is a fact of the past is not repeated."""
    for one in standing:
        finding, turns = one.finding, int((now - one.opened) / every) if every > 0 else 0
        if turns < 1 or finding.lasting or finding.level is not Level.CRITICAL:
            continue
        named = key("repeat", finding.subject, finding.rule, finding.what, one.opened, turns)
        text = f"still: {finding.text}"
        yield Notice(named, finding.subject, finding.level, text, finding.rule, finding.what, one.opened)


def settled(
    flapping: Iterable[Mapping[str, Any]], last: Mapping[int, float], standing: Sequence[OpenFinding], now: float
) -> Iterator[Notice]:
    """The final word on what flapped and has rested: whether it stands or not. `last` is when each last began."""
    held = {(one.finding.subject, one.finding.rule, one.finding.what): one.finding for one in standing}
    for notice in flapping:
        rule, _, what = notice["what"].partition("\x1f")
        if now - last.get(notice["id"], notice["created"]) < FLAP_REST:
            continue
        found = held.get((notice["subject"], rule, what))
        text = f"{rule} has stopped flapping: " + (f"it stands: {found.text}" if found else "it is resolved")
        level = found.level if found else Level.INFO
        yield Notice(
            key("settled", notice["key"]), notice["subject"], level, text, "flapping", f"{notice['what']} ended"
        )


def digest(jobs: Sequence[Mapping[str, Any]], open_findings: int, at: int, now: float) -> Notice | None:
    """Once a day after the chosen minute, also when nothing happened: that is the point of it."""
    local = datetime.fromtimestamp(now).astimezone()
    due = local.replace(hour=at // 60, minute=at % 60, second=0, microsecond=0)
    if local < due or local - due > timedelta(hours=1):
        return None
    running = [job for job in jobs if job["state"] == "running"]
    ended = [job for job in jobs if job["state"] == "ended" and _within_a_day(job, now)]
    bad = [job for job in ended if job["outcome"] != GOOD]
    text = f"{len(running)} running, {len(ended)} ended within a day ({len(bad)} of them badly)"
    text += f", {open_findings} findings open"
    if bad:
        text += "; badly: " + ", ".join(str(job["name"]) for job in bad[:NAMED])
    return Notice(key("digest", due.date()), "watch", Level.INFO, text, "digest", str(due.date()), now)


def _within_a_day(job: Mapping[str, Any], now: float) -> bool:
    since = job.get("since")
    return isinstance(since, str) and since >= datetime.fromtimestamp(now - 86400).astimezone().isoformat()[:10]


def progress(jobs: Iterable[Mapping[str, Any]], now: float, every: float = PROGRESS_EVERY) -> Iterator[Notice]:
    """How far running jobs are, every half an hour."""
    for job in jobs:
        told = job.get("progress")
        if job["state"] != "running" or not told or told.get("fraction") is None:
            continue
        text = f"{100 * told['fraction']:.0f} % done"
        yield Notice(
            key("progress", job["ref"], int(now // every)), job["ref"], Level.PROGRESS, text, "progress", "", now
        )
