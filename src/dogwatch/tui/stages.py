"""The stage that a run is at, and what the decision table says of it, in rows for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.text import plain
from dogwatch.tui import words

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.stages import DecisionDocument


def rows(job: JobDocument) -> list[tuple[str, str]]:
    """The stages, each with what became of it, and the decisions; nothing for a job that has neither."""
    found = [("stage" if not at else "", text) for at, text in enumerate(stage_lines(job))]
    box = job.get("box")
    return found + [pair for row in (box["decisions"] if box else ()) for pair in decision(row)]


def stage_lines(job: JobDocument) -> list[str]:
    """One line for each stage: its state, since when or how long, and its exit code."""
    lines = []
    stages = job.get("stages") or []
    for number, stage in enumerate(stages, 1):
        text = f"{plain(stage['name'], 60)} ({number} of {len(stages)}): {stage['state']}"
        began, ended = words.moment(stage["started"]), words.moment(stage["ended"])
        if began is not None and ended is not None:
            text += f" after {words.span(max(0.0, ended - began))}"
        if stage["exit_code"] not in (None, 0):
            text += f", exit code {stage['exit_code']}"
        if stage["waits_for"]:
            text += f", waits for {plain(stage['waits_for'], 100)}"
        if stage["state"] in ("failed", "unknown") and stage["log"]:
            text += f", log {plain(stage['log'], 200)}"
        lines.append(text)
    return lines


def decision(row: DecisionDocument) -> list[tuple[str, str]]:
    """What is seen, and below it the one thing to do; results verbatim."""
    first, *more = [plain(line, 300) for line in row["says"].split("\n")]
    return [("found", first), *(("", line) for line in more), ("do", plain(row["do"], 400))]
