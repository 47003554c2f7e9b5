"""A job's report for a terminal of 80 columns. Pure: a report document in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dogwatch.tui import phrases, words

if TYPE_CHECKING:
    from dogwatch.wire.documents.artifacts import CheckpointsDocument
    from dogwatch.wire.documents.report import CostDocument, EnergyDocument, IncidentDocument, ReportDocument

WIDTH = 80
LABEL = 13
MOST_INCIDENTS = 20
BAR = 30
_JOULES_PER_KWH = 3.6e6


def lines(report: ReportDocument, now: float) -> list[str]:
    """The report, one fact to a line."""
    out = _wrapped("", headline(report), first=0)
    for label, text in facts(report, now):
        out += [f"  {label:<{LABEL}}{text}"] if label == "bundle" else _wrapped(label, text)  # a path is copied whole
    return out


def headline(report: ReportDocument) -> str:
    return f"{phrases.title(report)} ({phrases.tidy(report['ref'], 120)}): {how_it_went(report)}"


def how_it_went(report: ReportDocument) -> str:
    """The outcome or the state, and after how long."""
    total = report["time"]["total_seconds"]
    if report["state"] != "ended":
        return f"{report['state'] or 'not polled yet'}{'' if total is None else f' for {words.span(total)}'} so far"
    return phrases.outcome(report) + (f" after {words.span(total)}" if total is not None else "")


def facts(report: ReportDocument, now: float, day: float | None = None) -> Iterator[tuple[str, str]]:
    """Label and text of everything that is known, in the order in which it is read; times of `day` (by default, of
    today) need no date."""
    day = now if day is None else day
    if report.get("description"):
        yield "for", phrases.tidy(report["description"])
    yield from _time(report, now, day)
    yield from _reason(report)
    yield from _verified(report)
    yield from _items(report)
    yield from _machine(report)
    yield from _gpus(report)
    yield from _money(report)
    yield from _files(report, day)
    yield from _incidents(report, day)
    if report.get("bundle"):
        yield "bundle", phrases.tidy(report["bundle"], 400)


def _time(report: ReportDocument, now: float, day: float) -> Iterator[tuple[str, str]]:
    time = report["time"]
    parts = []
    if time["began"]:
        until = words.clock(time["ended"], day) if time["ended"] else "now"
        parts.append(f"{words.clock(time['began'], day)} to {until}")
    if (time["waited_seconds"] or 0.0) >= 1:
        parts.append(f"waited {words.span(time['waited_seconds'])} before")
    if (report["time"]["attempts"] or 1) > 1:
        parts.append(f"{time['attempts']} attempts, {words.span(time['running_seconds'])} running")
    yield "time", ", ".join(parts) or "not started"
    for row in report["attempts"] if len(report["attempts"]) > 1 else ():
        ongoing = f"attempt {row['attempt']}: {words.span(row['seconds'])} so far"
        yield "", phrases.attempt(row) if row["ended"] else ongoing
    blind = sum(gap["seconds"] for gap in report["gaps"])
    if time["watched_seconds"] is not None:
        text = f"for {words.span(time['watched_seconds'])}"
        gaps = len(report["gaps"])
        if gaps:
            text += f"; {words.plural(gaps, 'gap')} of {words.span(blind)} in total without a watcher"
        yield "watched", text
    if report["so_far"] and time["confirmed_at"]:
        yield "confirmed", words.ago(time["confirmed_at"], now)


def _reason(report: ReportDocument) -> Iterator[tuple[str, str]]:
    reason = phrases.tidy(report["reason"] or "", 300)
    if reason:
        yield "reason", reason
    found = report["diagnosis"]
    if found:
        yield "why", phrases.diagnosis(found)
        for quote in (found.get("evidence") or ())[:2]:
            yield "", phrases.quote(quote)
        for advice in (found.get("advice") or ())[:2]:
            yield "do", phrases.tidy(advice, 300)
        for other in phrases.alternatives(found):
            yield "or", phrases.tidy(other, 300)


def _verified(report: ReportDocument) -> Iterator[tuple[str, str]]:
    verified = report["verified"]
    label = "verified" if verified is None or verified["ok"] else "NOT VERIFIED"
    for check in report["checks"]:
        yield label, f"{check['word']}: {phrases.tidy(check['text'], 600)}"
        label = ""
    if not report["checks"] and report["state"] == "ended":
        yield label, "nothing to check: no outputs, checkpoints or items were declared"


def _items(report: ReportDocument) -> Iterator[tuple[str, str]]:
    items = report["items"]
    if items is not None:
        unit = phrases.unit_of(items)
        text = phrases.counts(items, unit)
        if items["fraction"] is not None:
            text += f" ({words.percent(items['fraction'])})"
        if items["rate_average"] is not None:
            text += f", {words.rate(items['rate_average'], unit)} on average"
        yield "items", text


def _machine(report: ReportDocument) -> Iterator[tuple[str, str]]:
    if report["memory_peak_bytes"] is not None:
        yield "memory", f"at most {words.size(report['memory_peak_bytes'])}"


def _gpus(report: ReportDocument) -> Iterator[tuple[str, str]]:
    gpus = report["gpus"]
    if gpus is None:
        return
    parts = [words.count(gpus["count"])] if gpus["count"] else []
    if gpus["used_mean"] is not None:
        parts.append(f"used {words.percent(gpus['used_mean'], 0)} on average")
    if gpus["idle_fraction"] is not None:
        parts.append(f"idle {words.percent(gpus['idle_fraction'], 0)} of the time")
    if gpus["memory_peak_bytes"] is not None:
        parts.append(f"at most {words.size(gpus['memory_peak_bytes'])} of their memory")
    yield "GPUs", ", ".join(parts)
    for tenth, share in enumerate(gpus["tenths"] or ()):
        if share:
            bar = "#" * max(1, round(share * BAR))
            yield "", f"{10 * tenth:>3}-{10 * tenth + 10:<3} % {bar} {words.percent(share, 0)}"


def _money(report: ReportDocument) -> Iterator[tuple[str, str]]:
    energy, cost = report["energy"], report["cost"]
    if energy is not None:
        yield "energy", energy_words(energy)
    if cost is not None:
        yield "cost", cost_words(cost)


def energy_words(energy: EnergyDocument) -> str:
    return f"{words.figure(energy['joules'] / _JOULES_PER_KWH)} kWh, measured over {words.span(energy['seconds'])}"


def cost_words(cost: CostDocument) -> str:
    if cost["amount"] is None:
        return "not known: number of GPUs unknown"
    return f"{cost['amount']:,.2f}: {words.figure(cost['gpu_hours'])} GPU hours at {cost['price_per_gpu_hour']:g}"


def _files(report: ReportDocument, day: float) -> Iterator[tuple[str, str]]:
    if report["checkpoints"]:
        yield "checkpoints", checkpoint_words(report["checkpoints"], day)
    outputs = report["outputs"]
    if outputs["count"]:
        yield "outputs", f"{words.plural(outputs['count'], 'file')}, {words.size(outputs['bytes'])}"
    for score in report["scores"][:MOST_INCIDENTS]:
        yield "score", f"{phrases.tidy(score['task'], 60)} {phrases.tidy(score['metric'], 40)} {score['value']:g}"


def checkpoint_words(found: CheckpointsDocument, day: float) -> str:
    parts = [words.count(found["count"])]
    if found.get("interval_seconds"):
        parts.append(f"one every {words.span(found['interval_seconds'])}")
    return f"{', '.join(parts)}; newest {phrases.base(found['newest'])}, {words.clock(found['newest_at'], day)}"


def _incidents(report: ReportDocument, day: float) -> Iterator[tuple[str, str]]:
    found = report["incidents"]
    if not found and report["state"] is not None:
        yield "incidents", "none"
    for number, one in enumerate(found[-MOST_INCIDENTS:]):
        yield "incidents" if not number else "", incident_words(one, day)
    if len(found) > MOST_INCIDENTS:
        yield "", f"and {len(found) - MOST_INCIDENTS} earlier ones; --json lists all"
    for number, gap in enumerate(report["gaps"][-5:]):
        span = f"{words.clock(gap['from'], day)} for {words.span(gap['seconds'])}"
        yield "not seen" if not number else "", f"{span}: {phrases.tidy(gap['text'])}"


def incident_words(one: IncidentDocument, day: float) -> str:
    how = ", ended with the job" if one.get("closed") == "ended_with_job" else ""
    lasted = f" (for {words.span(one['seconds'])}{how})" if one["seconds"] is not None else ""
    return f"{words.level(one['level'])} {words.clock(one['at'], day)}{lasted} {phrases.tidy(one['text'], 300)}"


def _wrapped(label: str, text: str, first: int = 2) -> list[str]:
    """A label and its text, carried on below itself within the width."""
    head = f"{'':{first}}{label:<{LABEL}}" if first else ""
    rest = "" if first == 0 else " " * len(head)
    out = textwrap.wrap(text, WIDTH - len(head), break_on_hyphens=False, drop_whitespace=True) or [""]
    return [((head if at == 0 else rest) + line).rstrip() for at, line in enumerate(out)]
