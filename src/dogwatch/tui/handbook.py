"""The handbook as Markdown. Pure: a document in, lines out; text of jobs and hosts stands only in code marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dogwatch.clock import local_date
from dogwatch.text import plain
from dogwatch.tui import words

if TYPE_CHECKING:
    from dogwatch.wire.documents.handbook import (
        CommandDocument,
        HandbookDocument,
        HandbookJobDocument,
        HandbookPlaceDocument,
    )
    from dogwatch.wire.documents.report import CostDocument, ReportAttemptDocument

LONG, COMMAND = 2000, 100_000


def lines(book: HandbookDocument, now: float) -> list[str]:
    """The whole page."""
    watch = book["watch"]
    runs = (
        f"runs (`dogwatch {plain(watch['who'] or '?', 40)}`, pid {watch['pid']})"
        if watch["alive"]
        else "is NOT running"
    )
    out = ["# Handbook", ""]
    out += [f"Made {local_date(now)} on {code(book['host'])} from the store in {code(book['home'])}."]
    out += [f"A watcher {runs}; the last poll that it finished was {words.ago(watch['last_tick'], now)}."]
    out += ["For a newer page: `dogwatch handbook`.", "", "## First", ""]
    out += list(_commands(book["first"]))
    if not watch["alive"]:
        out += ["", "What is below is as old as it says: no watcher keeps it up to date."]
    out += _section("Machines", [line for place in book["places"] for line in _place(place, now)])
    for job in book["jobs"]:
        out += ["", f"## Job {code(job['name'])}", "", *_job(job, now)]
    if not book["jobs"]:
        out += ["", "No job is watched."]
    if book["left_out"]:
        out += ["", f"{book['left_out']} older jobs are left out: `dogwatch ls --all` lists them."]
    out += _section("Alerts that did not arrive", list(_undelivered(book, now)))
    return out + _section("Waiters", list(_waiters(book, now)))


def _section(title: str, rows: Sequence[str]) -> list[str]:
    return ["", f"## {title}", "", *rows] if rows else []


def _place(place: HandbookPlaceDocument, now: float) -> Iterator[str]:
    way = f"; connect: {code(place['connect'])}" if place["connect"] else " (this machine)"
    yield f"- {code(place['name'])}{way}"
    if place["unreachable_since"]:
        since = words.ago(place["unreachable_since"], now)
        yield f"  - UNREACHABLE, since {since}: {code(place['unreachable_why'] or '?')}"
    yield f"  - last answered: {words.ago(place['answered_at'], now)}"
    if place["connect"]:
        hours = "unknown" if place["hours"] is None else words.span(3600 * place["hours"])
        price = "unknown" if place["price_per_hour"] is None else f"{place['price_per_hour']:g} per hour"
        amount = "unknown" if place["amount"] is None else f"{place['amount']:,.2f}"
        yield f"  - money: {amount} so far (price {price}; time since its first job here: {hours})"
    if place["stop"]:
        yield f"  - to stop paying: {code(place['stop'])}"


def _job(job: HandbookJobDocument, now: float) -> Iterator[str]:
    yield f"- ref: {code(job['ref'])} on {code(job['place'])}"
    yield f"- state: {code(job['state'])}, confirmed {words.ago(job['known_at'], now)}"
    rows = (
        ("for", job["description"]),
        ("why", job["reason"]),
        ("progress", job["progress"]),
        ("runs", job["command"]),
        ("in", job["directory"]),
        ("resume from checkpoint", job["checkpoint"]),
    )
    yield from (f"- {label}: {code(text)}" for label, text in rows if text)
    if not job["command"]:
        yield "- runs: unknown"
    yield f"- money: {_cost(job['cost'])}"
    yield from _list("Do now", [code(text) for text in job["next"]])
    yield from _list("Open alerts", [code(text) for text in job["alerts"]])
    yield from ["", "Commands:", "", *_commands(job["commands"])]
    yield from _list("Stages", list(_stages(job, now)))
    yield from _list("Logs", [code(path) for path in job["logs"]])
    yield from _list("Attempts", [_attempt(row, now) for row in job["attempts"]])
    yield from _list("Notes", [f"{_date(note['at'])}: {code(note['text'])}" for note in job["remarks"]])


def _list(title: str, rows: Sequence[str]) -> list[str]:
    return ["", f"{title}:", "", *(f"- {row}" for row in rows)] if rows else []


def _commands(rows: Sequence[CommandDocument]) -> Iterator[str]:
    for row in rows:
        note = f" ({plain(row['note'], 300)})" if row["note"] else ""
        command = row["command"]
        if command is not None and "\n" in command:
            yield f"- {row['what']}{note}:"
            yield from ["", *_block(command), ""]
        else:
            yield f"- {row['what']}: {'unknown' if command is None else marked(plain(command, COMMAND))}{note}"


def _block(command: str) -> list[str]:
    """A command of several lines, as it is."""
    shown = plain(command, COMMAND, keep="\n")
    fence = "`" * max(3, _longest_run(shown) + 1)
    return [f"{fence}sh", *shown.split("\n"), fence]


def _cost(cost: CostDocument | None) -> str:
    if cost is None:
        return "unknown (no `price_per_gpu_hour` in the configuration file)"
    if cost["amount"] is None:
        return f"unknown ({cost['price_per_gpu_hour']:g} per GPU and hour; how many GPUs it has is not known)"
    return f"{cost['amount']:,.2f} so far ({words.figure(cost['gpu_hours'])} GPU hours)"


def _stages(job: HandbookJobDocument, now: float) -> Iterator[str]:
    directory = job["directory"]
    for number, stage in enumerate(job["stages"]):
        exit_code = f", exit code {stage['exit_code']}" if stage.get("exit_code") is not None else ""
        waits = f", waits for {code(str(stage['waits_for']))}" if stage.get("waits_for") else ""
        ended = f", ended {words.ago(stage['ended'], now)}" if stage.get("ended") else ""
        log = f", log {code(str(stage['log']))}" if stage.get("log") else ""
        marker = f", marker {code(f'{directory}/stage-{number}.done')}" if directory else ""
        yield f"{code(str(stage['name']))}: {stage['state']}{exit_code}{ended}{waits}{log}{marker}"


def _attempt(row: ReportAttemptDocument, now: float) -> str:
    how = (row["outcome"] or "running").replace("_", " ")
    nodes = f" on {code(row['nodes'])}" if row["nodes"] else ""
    began = words.ago(row["began"], now)
    return f"attempt {row['attempt']}: began {began}, {how} after {words.span(row['seconds'])}{nodes}"


def _undelivered(book: HandbookDocument, now: float) -> Iterator[str]:
    for message in book["undelivered"]:
        why = f": {code(message['detail'])}" if message["detail"] else ""
        what = "; ".join(code(text) for text in message["notifications"][:5])
        yield f"- {code(message['channel'])}, {message['state']}, since {words.ago(message['since'], now)}{why}: {what}"


def _waiters(book: HandbookDocument, now: float) -> Iterator[str]:
    for one in book["waiters"]:
        state = "waits" if one["alive"] else "STALE, its process is gone: `dogwatch waiters rm --stale`"
        who = f"{code(one['consumer'])} " if one["consumer"] else ""
        jobs = ", ".join(code(name) for name in one["names"])
        what = f"{code(one['condition'])} of {jobs}, since {words.ago(one['since'], now)}"
        yield f"- {one['id']}: {who}(pid {one['pid']}) for {what}: {state}"


def _date(at: str) -> str:
    moment = words.moment(at)
    return "-" if moment is None else local_date(moment)


def code(text: str) -> str:
    """Foreign text in code marks, on one line."""
    return marked(plain(" ".join(text.split()), LONG))


def marked(shown: str) -> str:
    """Clean text of one line in marks that it cannot end."""
    marks = "`" * (_longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{marks}{pad}{shown or ' '}{pad}{marks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in "".join(char if char == "`" else " " for char in text).split()), default=0)
