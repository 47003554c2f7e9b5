"""Workers on the screen: a line each where there is room, a grid of cells where there is not.

Workers keep their places by index; only when not all can be shown do the odd ones come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from rich.text import Text

from dogwatch.tui import phrases, words
from dogwatch.tui.pen import Pen

if TYPE_CHECKING:
    from dogwatch.wire.documents.machine import WorkerDocument

SLOW_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Condition:
    """How a worker is: `rank` orders oddness, the mark and word say it, the style only underlines it."""

    rank: int
    mark: str
    ascii_mark: str
    style: str
    word: str


Judged: TypeAlias = "tuple[WorkerDocument, Condition]"

_DOING = {
    "gone": Condition(1, "✗", "X", "red", "gone"),
    "zombie": Condition(2, "z", "Z", "red", "zombie"),
    "stopped": Condition(3, "■", "T", "yellow", "stopped"),
    "hidden": Condition(4, "?", "?", "yellow", "hidden"),
    "uninterruptible": Condition(5, "◆", "D", "yellow", "disk wait"),
    "slow": Condition(6, "▼", "v", "yellow", "slow"),
    "waiting": Condition(7, "·", ".", "", "not started"),
    "running": Condition(8, "●", "*", "green", "running"),
    "sleeping": Condition(8, "●", "*", "green", "running"),  # the kernel's word for waiting a moment
    "done": Condition(9, "✓", "+", "dim", "done"),
}


def condition(worker: WorkerDocument, usual_rate: float | None) -> Condition:
    """What to say of a worker: how it ended if that is recorded, else what it is doing."""
    ended, doing = worker.get("outcome"), str(worker.get("doing"))
    if ended == "succeeded":
        return _DOING["done"]
    how = "out of memory" if ended == "out_of_memory" else phrases.exit_words(worker)
    if how or ended not in (None, "unknown"):
        return Condition(0, "✗", "X", "red", how or phrases.tidy(str(ended).replace("_", " "), 24))
    rate = worker.get("rate")
    if doing in ("running", "sleeping") and usual_rate and rate is not None and rate < SLOW_SHARE * usual_rate:
        return _DOING["slow"]
    return _DOING.get(doing) or Condition(4, "?", "?", "yellow", phrases.tidy(doing, 16))


def conditions(workers: Sequence[WorkerDocument]) -> list[Judged]:
    """Each worker with its condition, in index order."""
    rates = [rate for w in workers if (rate := w.get("rate")) is not None and w.get("outcome") is None]
    usual = median(rates) if len(rates) > 2 else None
    ordered = sorted(workers, key=lambda w: w.get("index") or 0)
    return [(worker, condition(worker, usual)) for worker in ordered]


def tally(judged: Sequence[Judged], expected: int | None, width: int, pen: Pen) -> Text:
    """How many workers are how, the odd ones first; its marks are the legend of the grid."""
    tallied = sorted(Counter(found for _, found in judged).items(), key=lambda p: (p[0].rank, -p[1], p[0].word))
    for gap in ("  ", " "):
        line = Text()
        if expected is not None and expected != len(judged):
            pen.put(line, f"{len(judged)} of {expected}:{gap}", "yellow")
        for at, (found, number) in enumerate(tallied):
            pen.put(line, gap if at else "")
            pen.put(line, pen.glyph(found.mark, found.ascii_mark), found.style)
            pen.put(line, f" {number} {found.word}", found.style if found.rank < 7 else "")
        if pen.width(line.plain) <= width:
            break
    return line


_FULL = ("#", "", "gpu", "use", "state", "cpu", "memory", "per s", "up", "pid")
_WORDY = _FULL[:-2]
_TERSE = ("#", "", "gpu", "cpu", "mem", "/s")
_GAP = 3
_ROOMY = 8  # lines that a list of workers leaves to the rest before it may take one line each


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns are shown, how wide each is, and how wide a whole cell is."""

    heads: tuple[str, ...]
    widths: tuple[int, ...]
    cell: int
    pen: Pen

    def across(self, width: int) -> int:
        return max(1, (width + _GAP) // (self.cell + _GAP))


def rows(judged: Sequence[Judged], width: int, height: int, pen: Pen) -> list[Text]:
    """At most `height` lines that show as many workers as fully as they can, heading included."""
    if not judged or height < 2:
        return []
    if len(judged) < height and (len(judged) <= _ROOMY or len(judged) < height - _ROOMY):
        layout = _layout(_FULL if width >= 70 else _WORDY, judged, pen)
        if layout.cell <= width:
            return _laid(judged, replace(layout, cell=width), 1)
    for heads in (_WORDY, _TERSE):
        layout = _layout(heads, judged, pen)
        across = layout.across(width)
        if len(judged) <= across * (height - 1):
            return _laid(judged, layout, across)
    odd_first = sorted(judged, key=lambda pair: pair[1].rank)
    shown = odd_first[: max(1, across * (height - 1) - 1)]
    if len(shown) == across * (height - 1):
        return _laid(shown, layout, across)
    return _laid(shown, layout, across, left_out=len(judged) - len(shown))


def least(judged: Sequence[Judged], width: int, pen: Pen) -> int:
    """How many lines it takes to show every worker, at the tersest."""
    return 1 + -(-len(judged) // _layout(_TERSE, judged, pen).across(width)) if judged else 0


def _layout(heads: tuple[str, ...], judged: Sequence[Judged], pen: Pen) -> Layout:
    """The columns in which some worker has something to say, as wide as what is said."""
    fields = {"gpu": "gpu", "use": "gpu_percent", "per s": "rate", "/s": "rate"}
    used = tuple(h for h in heads if h not in fields or any(w.get(fields[h]) is not None for w, _ in judged))
    caps = {"gpu": 7, "state": 14}
    widths = []
    for head in used:
        longest = max(pen.width(_column(head, worker, found, pen)) for worker, found in judged)
        widths.append(max(len(head) or 1, min(longest, caps.get(head, 9))))
    return Layout(used, tuple(widths), sum(widths) + len(widths) - 1, pen)


def _laid(judged: Sequence[Judged], layout: Layout, across: int, left_out: int = 0) -> list[Text]:
    """The grid, read downwards: a worker stands below the one before it."""
    cells = [_cell(worker, found, layout) for worker, found in judged]
    if left_out:
        cells.append(layout.pen.fitted(layout.pen.line(f"... and {left_out} more", "dim"), layout.cell))
    down = -(-len(cells) // across)
    across = -(-len(cells) // down)
    lines = [_join([_heading(layout)] * across, layout.pen)]
    lines += [_join(cells[row::down], layout.pen) for row in range(down)]
    return lines


def _column(head: str, worker: WorkerDocument, found: Condition, pen: Pen) -> str:
    cpu = worker.get("cpu_percent")
    match head:
        case "":
            return pen.glyph(found.mark, found.ascii_mark)
        case "gpu":
            return phrases.tidy(worker["gpu"], 12) if worker.get("gpu") is not None else ""
        case "use":
            return f"{worker['gpu_percent']:.0f}%" if words.known(worker.get("gpu_percent")) else words.UNKNOWN
        case "state":
            return found.word
        case "cpu":
            return f"{cpu:.0f}%" if words.known(cpu) else words.UNKNOWN
        case "memory":
            return words.size(worker.get("memory_bytes"))
        case "mem":
            return words.short_size(worker.get("memory_bytes"))
        case "per s":
            return words.figure(worker.get("rate"))
        case "/s":
            return words.short_figure(worker.get("rate"))
        case "up":
            return words.span(worker.get("uptime_seconds"))
        case _:
            return str(worker.get("index" if head == "#" else head, "?"))


def _heading(layout: Layout) -> Text:
    named = [_aligned(head, head, size) for head, size in zip(layout.heads, layout.widths, strict=True)]
    return layout.pen.fitted(layout.pen.line(" ".join(named), "dim"), layout.cell)


def _cell(worker: WorkerDocument, found: Condition, layout: Layout) -> Text:
    """One worker. What an ended one used is of the past: its reason stands there instead."""
    pen, line = layout.pen, Text()
    odd, over = found.rank < 7, found.rank < 2 or found.word == "done"
    for head, size in zip(layout.heads, layout.widths, strict=True):
        if over and head in ("cpu", "mem"):
            break
        text = pen.fit(_column(head, worker, found, pen), size)
        style = found.style if odd or head in ("", "state") else "dim" if head == "#" else ""
        pen.put(line, _aligned(head, text, size, pen), style)
        pen.put(line, " ")
    reason = phrases.tidy(worker.get("reason") or "", 120) if odd else ""
    if over and "state" not in layout.heads:
        pen.put(line, found.word, found.style)
    elif reason and layout.cell - pen.width(line.plain) > 12:
        pen.put(line, f" {reason}" if not over else reason, found.style)
    line.rstrip()
    return pen.fitted(line, layout.cell)


def _aligned(head: str, text: str, size: int, pen: Pen | None = None) -> str:
    gap = " " * max(0, size - (pen.width(text) if pen else len(text)))
    return text + gap if head in ("", "gpu", "state") else gap + text


def _join(cells: Sequence[Text], pen: Pen) -> Text:
    line = Text()
    for at, cell in enumerate(cells):
        if at:
            pen.put(line, f" {pen.glyph('│', '|')} ", "dim")
        line.append_text(cell)
    return line
