"""A job's report as one HTML page: no script, no request, everything from the job escaped. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dogwatch import plot
from dogwatch.tui import phrases, report, words

if TYPE_CHECKING:
    from dogwatch.wire.documents.report import IncidentDocument, Measure, ReadingDocument, ReportDocument


ANY_DAY = 0.0
# Nothing may be loaded and nothing may run, whatever a browser makes of a name that slipped through.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root{color-scheme:light dark;--ink:#18181b;--soft:#52525b;--paper:#fff;--card:#f4f4f5;--edge:#e4e4e7;
--good:#15803d;--bad:#b91c1c;--plot-line:#2563eb;--plot-grid:#d4d4d8;--plot-text:#52525b}
@media (prefers-color-scheme:dark){:root{--ink:#f4f4f5;--soft:#a1a1aa;--paper:#18181b;--card:#27272a;--edge:#3f3f46;
--good:#4ade80;--bad:#f87171;--plot-line:#60a5fa;--plot-grid:#3f3f46;--plot-text:#a1a1aa}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.25rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:0 0 .1rem}h2{font-size:1rem;margin:1.75rem 0 .5rem}
p{margin:.25rem 0}.soft{color:var(--soft);font-size:.875rem}.good{color:var(--good)}.bad{color:var(--bad)}
.word{font-weight:600}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:.75rem;margin:1rem 0}
dl>div{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.6rem .8rem}
dt{color:var(--soft);font-size:.8rem}dd{margin:0}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem}
figure{margin:0;background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.6rem .6rem .2rem}
figcaption{font-size:.875rem;margin:0 0 .3rem .2rem}svg{display:block;width:100%;height:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}td,th{text-align:left;vertical-align:top;
padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--edge)}th{color:var(--soft);font-weight:500}
td:first-child{white-space:nowrap}
pre{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.6rem .8rem;white-space:pre-wrap;
font-size:.85rem;margin:.5rem 0}
"""
_IN_CARDS = frozenset(
    {"why", "do", "", "incidents", "not seen", "verified", "NOT VERIFIED", "reason", "score", "bundle"}
)


def page(document: ReportDocument, now: float) -> str:
    """The whole page. Whoever opens it may do so any day, so every time has its date."""
    title = f"{phrases.title(document)}: report"
    body = [
        *_head(document, now),
        *_cards(document, now),
        *_checks(document),
        *_why(document),
        *_plots(document),
        *_scores(document),
        *_incidents(document),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{_safe(title, 200)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n"
        "</body>\n</html>\n"
    )


def _safe(text: object, limit: int = 600) -> str:
    """Foreign text on a page: harmless as a line, then escaped."""
    return escape(phrases.tidy(text, limit), quote=True)


def _head(document: ReportDocument, now: float) -> Iterator[str]:
    ended = document["state"] == "ended" and document["outcome"] is not None
    tone = "bad" if ended and document["outcome"] not in phrases.WELL else "good" if ended else ""
    said = report.how_it_went(document)
    yield f"<h1>{_safe(phrases.title(document), 120)}</h1>"
    yield f'<p class="word {tone}">{_safe(said)}</p>'
    made = f"{words.clock(document['made_at'], ANY_DAY)} {time.strftime('%Z', time.localtime(now))}"
    confirmed = f", confirmed {words.ago(document['time']['confirmed_at'], now)}" if document["so_far"] else ""
    yield f'<p class="soft">{_safe(document["ref"])} · report made {_safe(made)}{_safe(confirmed)}</p>'


def _cards(document: ReportDocument, now: float) -> Iterator[str]:
    cells = [
        f"<div><dt>{_safe(label)}</dt><dd>{_safe(text)}</dd></div>"
        for label, text in report.facts(document, now, ANY_DAY)
        if label not in _IN_CARDS
    ]
    yield f"<dl>{''.join(cells)}</dl>"


def _checks(document: ReportDocument) -> Iterator[str]:
    if not document["checks"]:
        return
    yield "<h2>Checked at its end</h2>"
    for check in document["checks"]:
        tone = {"passed": "good", "failed": "bad"}.get(check["word"], "")
        yield f'<p><span class="word {tone}">{_safe(check["word"], 20)}</span> {_safe(check["text"])}</p>'


def _why(document: ReportDocument) -> Iterator[str]:
    found = document["diagnosis"]
    if document["reason"]:
        yield f"<h2>Why</h2>\n<p>{_safe(document['reason'])}</p>"
    elif found:
        yield "<h2>Why</h2>"
    if not found:
        return
    yield f'<p class="word">{_safe(phrases.diagnosis(found))}</p>'
    quotes = [_safe(phrases.quote(quote)) for quote in (found.get("evidence") or ())[:6]]
    if quotes:
        yield "<pre>" + "\n".join(quotes) + "</pre>"
    advice = "".join(f"<li>{_safe(one)}</li>" for one in found.get("advice") or ())
    if advice:
        yield f"<ul>{advice}</ul>"
    others = "".join(f"<li>{_safe(one)}</li>" for one in phrases.alternatives(found))
    if others:
        yield f"<p>or</p>\n<ul>{others}</ul>"


def _plots(document: ReportDocument) -> Iterator[str]:
    drawn = [(title, svg) for title, svg in _charts(document) if svg]
    if not drawn:
        return
    yield '<h2>Over time</h2>\n<div class="plots">'
    for title, svg in drawn:
        yield f"<figure><figcaption>{_safe(title)}</figcaption>{svg}</figure>"
    yield "</div>"


def _charts(document: ReportDocument) -> Iterator[tuple[str, str]]:
    rows = document["readings"]
    items = document["items"]
    unit = phrases.unit_of(items)
    holes = [(words.moment(gap["from"]) or 0.0, words.moment(gap["to"]) or 0.0) for gap in document["gaps"]]
    began = words.moment(document["time"]["began"]) or (words.moment(rows[0]["at"]) if rows else None) or 0.0

    times = [at for row in rows if (at := words.moment(row["at"])) is not None]
    span = (min(times), max(times)) if times else None

    def drawn(title: str, key: Measure, value: Any, **more: Any) -> tuple[str, str]:
        points = _series(rows, key)
        more |= {"holes": holes, "span": span}
        chart = plot.Chart(title, points, value, lambda at: words.span(max(0.0, at - began)), **more)
        return title, plot.line(chart)

    total = items["total"] if items else None
    yield drawn(f"Progress, {unit}", "step", _short, goal=float(total) if total else None)
    yield drawn(f"Rate, {unit} per second", "rate", words.figure)
    yield drawn("Loss", "loss", words.figure)
    yield drawn("GPU use, mean of its GPUs", "gpu_used", lambda share: words.percent(share, 0), ceiling=1.0)
    yield drawn("Memory", "rss", words.size)
    yield drawn("GPU memory", "gpu_memory", words.size)
    yield drawn("Power of its GPUs", "watts", lambda watts: f"{words.figure(watts)} W")
    yield drawn("Output files", "output_bytes", words.size)
    gpus = document["gpus"]
    if gpus is not None and (tenths := gpus["tenths"]):
        shares = [(f"{10 * at}-{10 * at + 10}", share) for at, share in enumerate(tenths)]
        title = "GPU use in percent, and the share of the time"
        yield title, plot.bars(title, shares, lambda share: words.percent(share, 0) if share else "")


def _short(number: float) -> str:
    return words.short_figure(number) if number >= 1e4 else words.count(number)


def _series(rows: Sequence[ReadingDocument], key: Measure) -> list[tuple[float, float]]:
    found = [(words.moment(row["at"]), row.get(key)) for row in rows]
    return [(at, float(value)) for at, value in found if at is not None and value is not None]


def _scores(document: ReportDocument) -> Iterator[str]:
    if document["scores"]:
        rows = [(one["task"], one["metric"], f"{one['value']:g}") for one in document["scores"][:200]]
        yield _table("Scores", ("task", "metric", "value"), rows)


def _incidents(document: ReportDocument) -> Iterator[str]:
    rows = [_row(one) for one in document["incidents"]]
    rows += [
        (words.clock(gap["from"], ANY_DAY), words.span(gap["seconds"]), f"not seen: {gap['text']}")
        for gap in document["gaps"]
    ]
    if rows:
        yield _table("Incidents", ("when", "for", "what"), rows)
    else:
        yield "<h2>Incidents</h2>\n<p>none</p>"


def _row(one: IncidentDocument) -> tuple[str, str, str]:
    lasted = words.span(one["seconds"]) if one["seconds"] is not None else ""
    return words.clock(one["at"], ANY_DAY), lasted, f"{one['level']}: {one['text']}"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{head}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h2>{title}</h2>\n<table><tr>{top}</tr>{body}</table>"
