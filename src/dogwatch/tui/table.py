"""Several jobs on the screen: a line each, those that need eyes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from dogwatch.text import as_counted, is_suspended
from dogwatch.tui import phrases, words
from dogwatch.tui.pen import Pen

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument

_BAR, _GAP, _NAME = 10, 2, 20
_STYLES = {"running": "green", "missing": "bold yellow", "unreachable": "bold yellow"}
_ORDER = {"missing": 2, "running": 3, "waiting": 4, "None": 5, "ended": 6}


def rows(jobs: Sequence[JobDocument], width: int, height: int, now: float, pen: Pen) -> list[Text]:
    """A heading and one line per job in at most `height` lines; the last one counts what is left out."""
    ordered = sorted(jobs, key=lambda job: (_urgency(job), as_counted(phrases.title(job))))
    shown = ordered if len(ordered) < height else ordered[: height - 2]
    cells = [_cells(job, now, pen) for job in shown]
    heads = ["job", "state", "done", "", "left", "speed", "workers"]
    natural = [max(pen.width(heads[at]), *(pen.width(row[at].plain) for row in cells)) for at in range(7)]
    kept = _kept(natural, width)
    widths = [natural[at] for at in kept]
    widths[0] = max(8, min(widths[0], width - sum(widths[1:]) - _GAP * (len(kept) - 1)))
    lines = [_line([pen.line(heads[at], "dim") for at in kept], widths, pen)]
    lines += [_line([row[at] for at in kept], widths, pen) for row in cells]
    if len(shown) < len(ordered):
        lines.append(pen.line(f"and {words.plural(len(ordered) - len(shown), 'more job')}", "dim"))
    return lines


def _kept(natural: Sequence[int], width: int) -> tuple[int, ...]:
    """Which columns this width has room for; the name, the state and the share done always stay."""
    for kept in ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4, 6), (0, 1, 3, 4, 6), (0, 1, 3, 4)):
        rest = sum(natural[at] + _GAP for at in kept[1:])
        if rest + min(natural[0], _NAME) <= width:
            return kept
    return (0, 1, 3)


def _urgency(job: JobDocument) -> int:
    if any(finding.get("level") == "critical" for finding in job.get("findings") or ()):
        return 0
    if phrases.is_bad(job):
        return 1
    return _ORDER.get(str(job.get("state")), 5)


def _cells(job: JobDocument, now: float, pen: Pen) -> list[Text]:
    progress = job.get("progress")
    fraction = progress.get("fraction") if progress else None
    word = str(job.get("outcome") if phrases.is_ended(job) else job.get("state") or "new")
    word = "suspended" if word == "running" and is_suspended(job.get("native")) else word
    word = "unreachable" if job.get("unreachable") else word
    style = "bold red" if phrases.is_bad(job) else _STYLES.get(word, "")
    worst = min((f.get("level") for f in job.get("findings") or ()), key=_level_rank, default="")
    mark = words.level(str(worst)).strip() + " " if worst in ("critical", "warning") else ""
    step, rate = (progress.get("step"), progress.get("rate")) if progress else (None, None)
    share = words.percent(fraction, 0) if fraction is not None else words.count(step)
    estimate = job.get("eta")
    due = words.moment(estimate.get("at")) if estimate else None
    left = _left(job, due, now)
    speed = words.rate(rate, phrases.unit(job)) if not phrases.is_ended(job) else words.UNKNOWN
    return [
        pen.line(phrases.title(job), "bold"),
        pen.line(mark + pen.drawn(phrases.tidy(word.replace("_", " "), 16)), style or ("yellow" if mark else "")),
        pen.bar(fraction, _BAR) if fraction is not None else pen.line(" " * _BAR),
        pen.line(share.rjust(5)),
        pen.line(left),
        pen.line(speed),
        pen.line(_workers(job)),
    ]


def _left(job: JobDocument, due: float | None, now: float) -> str:
    """The time left, or the short form of why there is no estimate."""
    if phrases.is_ended(job):
        return words.UNKNOWN
    if due is None:
        return words.short_reason(job.get("no_eta_reason")) or words.UNKNOWN
    return words.roughly(due - now)


def _level_rank(level: object) -> int:
    return words.LEVELS.index(str(level)) if level in words.LEVELS else len(words.LEVELS)


def _workers(job: JobDocument) -> str:
    """How many of the workers are at work, of how many there should be."""
    workers = job.get("workers") or ()
    if not workers:
        return words.UNKNOWN
    at_work = sum(w.get("doing") in phrases.AT_WORK for w in workers)
    expected = job.get("expect", {}).get("workers") or len(workers)
    return f"{at_work} of {expected}"


def _line(cells: Sequence[Text], widths: Sequence[int], pen: Pen) -> Text:
    line = Text()
    for at, (cell, size) in enumerate(zip(cells, widths, strict=True)):
        line.append_text(pen.fitted(cell.copy(), size))
        if at < len(cells) - 1:
            line.append(" " * _GAP)
    return line
