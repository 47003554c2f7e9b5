"""screen(): a View as one frame that fills its size exactly and never scrolls. Pure.

The height is a budget: header, progress, findings and the last evidence always have their lines; workers, facts
and events share the rest, and each has a shorter form for when there is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from dogwatch.tui import grid, phrases, table, words
from dogwatch.tui.pen import Pen
from dogwatch.tui.view import View

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument

__all__ = ["Frame", "View", "screen"]

SHORT_HINT = "Ctrl-C: stop watching"
LOUD = "bold white on red"
LEVEL_STYLES = {"critical": "bold red", "warning": "yellow"}
_WIDEST = 140  # beyond this the eye loses the line between left and right
_SHORT, _NARROW = 20, 64  # fewer lines, or cells, than this are spent more sparingly


def screen(view: View, width: int, height: int, now: float, fill: bool = True) -> RenderableType:
    """The frame for a terminal of this size; without `fill` it is only as tall as it needs to be
    and leaves out the hint, for the copy that stays in the scrollback."""
    return Frame(view, min(_WIDEST, max(20, width)), max(5, height), now, fill)


@dataclass(frozen=True, slots=True)
class Frame:
    """A View waiting to learn from the console whether it may draw more than ASCII."""

    view: View
    width: int
    height: int
    now: float
    fill: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        pen = Pen(ascii=not options.encoding.lower().startswith("utf"))
        for line in self.lines(pen):
            line.no_wrap = True
            line.overflow = "crop"
            yield line

    def lines(self, pen: Pen) -> list[Text]:
        """Exactly `height` lines of exactly `width` cells (or fewer lines, when not filling)."""
        foot = _footer(self, pen)
        top = _top(self, pen)
        spare = self.height - len(top) - len(foot)
        most = 4 if len(self.view.jobs) == 1 else max(4, spare // 2)
        findings = _findings(self, pen, max(1, min(most, spare - 3)))
        room = self.height - len(top) - len(findings) - len(foot)
        middle = _middle(self, pen, max(0, room))
        if phrases.confirmed(self.view, self.now)[1] or phrases.unreachable_hosts(self.view.places, self.now):
            for line in [*top[1:], *middle]:
                line.stylize("dim")
        lines = [*top, *findings, *middle]
        if self.fill:
            lines += [Text()] * (self.height - len(foot) - len(lines))
        else:
            lines += [Text()] * (len(lines) + len(foot) < self.height)
        lines = [*lines[: self.height - len(foot)], *foot]
        return [pen.fitted(line.copy(), self.width) for line in lines]


def _top(frame: Frame, pen: Pen) -> list[Text]:
    """One job: its name, state, progress, end and speed. Several: the table of them."""
    jobs = frame.view.jobs
    if not jobs:
        return [pen.line("no jobs to show", "bold")]
    if len(jobs) > 1:
        rows = table.rows(jobs, frame.width, max(2, frame.height - 6), frame.now, pen)
        return rows + [Text()] * (frame.height - len(rows) >= 12)
    job = jobs[0]
    return [_header(job, frame, pen), _progress(job, frame, pen), *_pace(job, frame, pen)]


def _header(job: JobDocument, frame: Frame, pen: Pen) -> Text:
    state = phrases.state(job, frame.now)
    began = words.clock(job.get("started"), frame.now)
    style = state_style(job)
    full = state if began == words.UNKNOWN else f"{state}, since {began}"
    if phrases.is_ended(job) and began != words.UNKNOWN:
        full = f"{state}, started {began}"
    name, ref = phrases.title(job), phrases.tidy(job.get("ref") or "", 80)
    for left, right in ((f"{name}  {ref}", full), (name, full), (name, state)):
        line = pen.line(left)
        line.stylize("dim")
        line.stylize("not dim bold", 0, len(pen.drawn(name)))
        spread = pen.spread(line, pen.line(right, style), frame.width)
        if spread is not None:
            return spread
    right_side = pen.line(pen.fit(state, frame.width - 12), style)
    left_side = pen.line(pen.fit(name, frame.width - pen.width(right_side.plain) - 2), "bold")
    return pen.spread(left_side, right_side, frame.width) or right_side


def state_style(job: JobDocument) -> str:
    if phrases.is_ended(job):
        return "bold red" if phrases.is_bad(job) else "bold green"
    return {"running": "green", "missing": "bold yellow"}.get(str(job.get("state")), "yellow")


def _progress(job: JobDocument, frame: Frame, pen: Pen) -> Text:
    progress = job.get("progress")
    if not progress or progress.get("step") is None:
        return pen.line("no progress seen in the logs" + ("" if phrases.is_ended(job) else " yet"), "dim")
    unit = phrases.unit(job)
    fraction = progress.get("fraction")
    if fraction is None:
        return pen.put(Text(), phrases.counts(progress, unit))
    share = words.percent(fraction)
    step, total = words.count(progress["step"]), words.count(progress.get("total"))
    for tail in (f"{share}  {phrases.counts(progress, unit)}", f"{share}  {step}/{total}", share):
        size = frame.width - 2 - pen.width(tail)
        if size >= 10:
            break
    line = pen.bar(fraction, size)
    return pen.put(pen.put(line, "  "), tail, "bold")


def _pace(job: JobDocument, frame: Frame, pen: Pen) -> list[Text]:
    """When it will be done and how fast it goes: on one line if they fit there, shortened to do so
    where lines are few."""
    ends = [pen.line(phrases.eta(job, frame.now, full)) for full in (True, False)]
    speeds = [pen.line(phrases.throughput(job, full)) for full in (True, False)]
    for end in ends:
        end.stylize(_eta_style(end.plain))
    pairs = [(ends[0], speeds[0])]
    if frame.height < _SHORT:
        pairs += [(ends[1], speeds[0]), (ends[1], speeds[1])]
    for end, speed in pairs:
        if not end.plain or not speed.plain:
            return [line for line in (end, speed) if line.plain]
        both = pen.spread(end, speed, frame.width)
        if both is not None:
            return [both]
    return [ends[0] if pen.width(ends[0].plain) <= frame.width else ends[1], speeds[0]]


def _eta_style(text: str) -> str:
    if text.startswith(("cannot finish", "may not finish", "stalled")):
        return "bold red"
    if text.startswith("no estimate"):
        return "dim"
    return "" if text.startswith("done in") else "yellow"


def _findings(frame: Frame, pen: Pen, most: int) -> list[Text]:
    """Unreachable places and open findings, the worst first; what does not fit is counted, never dropped."""
    lines = [pen.line(f" {text} ", LOUD) for text in phrases.unreachable_hosts(frame.view.places, frame.now)]
    found = phrases.findings(frame.view.jobs)
    several = len(frame.view.jobs) > 1
    for job, finding in found:
        level = str(finding.get("level"))
        text = phrases.finding(finding)
        line = pen.line(f"{words.level(level)} ", LEVEL_STYLES.get(level, ""))
        pen.put(line, f"{phrases.title(job)}: {text}" if several else text, LEVEL_STYLES.get(level, ""))
        age = pen.line(words.ago(finding.get("since"), frame.now) if finding.get("since") else "", "dim")
        lines.append(pen.spread(line, age, frame.width) or line)
    if len(lines) <= most:
        return lines
    rest = len(lines) - most + 1
    more = f"   and {words.plural(rest, 'more finding')}" if most > 1 else ""
    if not more:
        return [pen.fitted(lines[0], frame.width - 9).append(pen.drawn(f" (+{rest - 1})"))]
    return [*lines[: most - 1], pen.line(more, "dim")]


def margin_of(width: int) -> int:
    return 13 if width >= _NARROW else 8


@dataclass(frozen=True, slots=True)
class Part:
    """A labelled block of the lower half: a label in the margin and lines beside it."""

    label: str
    short: str
    lines: Sequence[Text]
    urgent: bool = False

    def drawn(self, width: int, pen: Pen) -> list[Text]:
        margin = margin_of(width)
        label = self.label if len(self.label) < margin else self.short
        out = []
        for at, line in enumerate(self.lines):
            head = pen.line(pen.fit(label if not at else "", margin).ljust(margin), "dim")
            out.append(pen.fitted(head.append_text(line), width))
        return out


def _middle(frame: Frame, pen: Pen, room: int) -> list[Text]:
    """Workers, facts and events in the lines that are left: each gets its least, then the workers theirs,
    then air between the blocks, then more facts and more events."""
    jobs, events = frame.view.jobs, frame.view.events
    job = jobs[0] if len(jobs) == 1 else cast("JobDocument", {})
    workers = _workers(job, frame, pen, 1)
    facts = _facts(job, frame, pen, room - len(workers))
    left = max(0, room - len(workers) - len(facts))
    least = min(len(events), 2 if room > 9 else 1, left)
    all_workers = grid.least(grid.conditions(job.get("workers") or ()), frame.width, pen)
    if all_workers <= left:  # the last event can wait; a worker that is not shown is missed
        least = min(least, left - all_workers)
    workers = _workers(job, frame, pen, room - len(facts) - least)
    blocks = [block for block in (workers, _drawn(facts, frame, pen)) if block]
    spare = room - len(workers) - len(facts) - least
    air = min(spare, len(blocks) + bool(least) + 1)
    spare -= air
    more = _outputs_each(job, frame, pen, min(spare, 1 + spare * 2 // 3))
    if more is not None:
        spare -= len(more.lines) - 1
        blocks[-1] = _drawn([more if part.label == more.label else part for part in facts], frame, pen)
    if least:
        blocks.append(_events(frame, pen, least + spare))
    lines: list[Text] = []
    for at, block in enumerate(blocks):
        lines += [Text()] * (at < air) + block
    return lines


def _workers(job: JobDocument, frame: Frame, pen: Pen, room: int) -> list[Text]:
    """The tally of the workers, and in what room is left below it, they themselves."""
    judged = grid.conditions(job.get("workers") or ())
    if not judged or room < 1:
        return []
    label = pen.line("Workers  ", "dim")
    expected = job.get("expect", {}).get("workers")
    tally = grid.tally(judged, expected, frame.width - len(label), pen)
    margin = margin_of(frame.width)
    if len(label) < margin and pen.width(tally.plain) <= frame.width - margin:
        label.pad_right(margin - len(label))
    return [label.append_text(tally), *grid.rows(judged, frame.width, room - 1, pen)]


def _drawn(parts: Sequence[Part], frame: Frame, pen: Pen) -> list[Text]:
    return [line for part in parts for line in part.drawn(frame.width, pen)]


def _facts(job: JobDocument, frame: Frame, pen: Pen, most: int) -> list[Part]:
    """Outputs, checkpoints and disk, a line each; where not all fit, those that need eyes stay."""
    parts = []
    if job.get("outputs"):
        line = pen.line(phrases.output_total(job["outputs"]))
        parts.append(Part("Outputs", "Outputs", [line]))
    if saved := job.get("checkpoints"):
        text = phrases.checkpoints(saved, frame.now, phrases.is_ended(job), job.get("confirmed_at"))
        late = "overdue" in text
        parts.append(Part("Checkpoints", "Saved", [pen.line(text, "yellow" if late else "")], late))
    disks = sorted(job.get("disks") or (), key=lambda disk: not phrases.is_low(disk))
    if disks:
        low = phrases.is_low(disks[0])
        text = ("low: " if low else "") + phrases.disk(disks[0])
        parts.append(Part("Disk", "Disk", [pen.line(text, "yellow" if low else "")], low))
    kept = sorted(parts, key=lambda part: not part.urgent)[: max(0, most)]
    return [part for part in parts if part in kept]


def _outputs_each(job: JobDocument, frame: Frame, pen: Pen, room: int) -> Part | None:
    """The output files one by one under their sum, as far as there is room for them."""
    files = job.get("outputs") or ()
    if len(files) < 2 or room < min(3, len(files)):
        return None
    shown = files if len(files) <= room else files[: room - 1]
    margin = 2 + min(40, max(pen.width(phrases.base(file["path"])) for file in shown))
    lines = [pen.line(phrases.output_total(files))]
    for file in shown:
        name = pen.fit(phrases.base(file["path"]), margin - 2)
        lines.append(pen.line(name + " " * (margin - pen.width(name)) + phrases.output_size(file)))
    if len(shown) < len(files):
        lines.append(pen.line(f"... and {len(files) - len(shown)} more", "dim"))
    return Part("Outputs", "Outputs", lines)


def _events(frame: Frame, pen: Pen, most: int) -> list[Text]:
    """The latest events, the newest last, as in a log."""
    lines = []
    for event in sorted(frame.view.events, key=lambda e: e.get("seq") or 0)[-most:]:
        level = str(event.get("level"))
        line = pen.line(words.clock(event.get("at"), frame.now, seconds=True), "dim")
        mark = words.level(level) if level in LEVEL_STYLES else "  "
        pen.put(line, f" {mark} ", LEVEL_STYLES.get(level, ""))
        lines.append(pen.put(line, phrases.event(event, frame.view.jobs)))
    return _drawn([Part("Events", "Events", lines)], frame, pen)


def _footer(frame: Frame, pen: Pen) -> list[Text]:
    """When the shown was last confirmed, and by whom; loud when nobody keeps it true."""
    text, loud = phrases.confirmed(frame.view, frame.now)
    watch = frame.view.watch
    evidence = pen.line(f" {text} " if loud else text, LOUD if loud else "dim")
    if frame.width >= 110 and watch.get("alive") and not watch.get("ours") and watch.get("who"):
        pen.put(evidence, f", watched by {phrases.tidy(watch['who'], 60)}")
    if not frame.fill:
        return [evidence]
    for hint in (frame.view.hint, SHORT_HINT):
        both = pen.spread(evidence, pen.line(hint, "dim"), frame.width)
        if both is not None:
            return [both]
    return [evidence, pen.line(frame.view.hint, "dim")] if frame.height >= _SHORT else [evidence]
