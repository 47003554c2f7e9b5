"""The handbook: what a person or program that has never seen these jobs needs to take over, made anew from the store
each time, so that it is never older than the store. Secrets are left out.

`jobs` describes one job, `advice` has the commands for it, `file` writes the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dogwatch.api import alerts, queries, waiters
from dogwatch.api.handbook.advice import Advice
from dogwatch.api.handbook.jobs import describe
from dogwatch.api.history import seconds_of
from dogwatch.clock import recorded, stamp
from dogwatch.redaction import redacted
from dogwatch.store.interface import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dogwatch.wire.documents.handbook import CommandDocument, HandbookDocument, HandbookPlaceDocument
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.watch import PlaceDocument, WatchDocument

LATELY, MOST_ENDED = 7 * 86400.0, 20


def document(
    store: Store, now: float, price: float | None, stops: Mapping[str, str], ref: str | None
) -> HandbookDocument:
    """The handbook of one job, or of all that have not ended or ended lately. `stops` says by place what ends its
    costs."""
    every = queries.listing(store, everything=True)
    chosen = [job for job in every["jobs"] if job["ref"] == ref] if ref else _lately(every["jobs"], now)
    rows = {row["name"]: row for row in every["places"]}
    places = [rows[name] for name in dict.fromkeys(job["place"] for job in chosen) if name in rows]
    about = {row["name"]: _place(row, every["jobs"], now, stops.get(row["name"], "")) for row in places}
    advice = Advice({name: one["connect"] for name, one in about.items()})
    about_alerts = alerts.overview(store, now)
    whole: HandbookDocument = {
        "made_at": recorded(now),
        "host": os.uname().nodename,
        "home": store.location.path(),
        "first": _first(advice, every["watch"]),
        "watch": every["watch"],
        "places": list(about.values()),
        "jobs": [describe(store, job, now, price, advice) for job in chosen],
        "left_out": 0 if ref else len(every["jobs"]) - len(chosen),
        "undelivered": about_alerts["undelivered"],
        "waiters": waiters.listing(store, ref),
    }
    return without_secrets(whole)  # type: ignore[no-any-return]


def _lately(jobs: Sequence[JobDocument], now: float) -> list[JobDocument]:
    """Those that have not ended, and the newest of those that ended a short time ago."""
    living = [job for job in jobs if job["state"] != "ended"]
    after = stamp(now - LATELY) or ""
    ended = sorted((job for job in jobs if job["state"] == "ended"), key=lambda job: job["since"] or "", reverse=True)
    return living + [job for job in ended if (job["since"] or "") > after][:MOST_ENDED]


def _place(row: PlaceDocument, jobs: Sequence[JobDocument], now: float, stop: str) -> HandbookPlaceDocument:
    """A machine; it costs from its first job on until somebody stops it, whether a job runs or not."""
    began = [at for job in jobs if job["place"] == row["name"] and (at := seconds_of(job["started"])) is not None]
    given = row["transport"].get("price_per_hour")
    price = float(given) if given is not None else None
    hours = round(max(0.0, now - min(began)) / 3600, 3) if began and row["kind"] != "here" else None
    return {
        "name": row["name"],
        "connect": connect(row),
        "answered_at": row["answered_at"],
        "unreachable_since": row["unreachable_since"],
        "unreachable_why": row["unreachable_why"],
        "price_per_hour": price,
        "hours": hours,
        "amount": None if price is None or hours is None else round(price * hours, 2),
        "stop": stop,
    }


def connect(row: PlaceDocument) -> str | None:
    """The command that connects to a place; None for this machine."""
    import shlex

    if row["kind"] == "here":
        return None
    config = row["transport"].get("config")
    return shlex.join(
        ["ssh", *(["-F", str(config)] if config else []), str(row["transport"].get("ssh") or row["name"])]
    )


def _first(advice: Advice, watch: WatchDocument) -> list[CommandDocument]:
    found = [advice.command("compare what is stored with what is there", "dogwatch", "takeover")]
    found.append(advice.command("list all jobs as they are now", "dogwatch", "ls"))
    if not watch["alive"]:
        found.append(advice.command("start a watcher, since none is running", "dogwatch", "daemon"))
    return found


def without_secrets(value: Any) -> Any:
    """A document with every text in it redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {key: without_secrets(inner) for key, inner in value.items()}
    return [without_secrets(inner) for inner in value] if isinstance(value, list | tuple) else value
