"""lm-eval's results_<time>.json: one object per task, with keys "<metric>,<filter>" and their "_stderr" twins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dogwatch.results.interface import Score, figure


class LmEval:
    """A group stands for its subtasks; of several metrics the first is the task's own choice of headline."""

    globs: tuple[str, ...] = ("results_*.json", "*/results_*.json")

    def read(self, text: str) -> list[Score] | None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        results = document.get("results") if isinstance(document, dict) else None
        if not isinstance(results, dict):
            return None
        below = _subtasks(document.get("group_subtasks"))
        found = [_headline(task, row) for task, row in results.items() if task not in below and isinstance(row, dict)]
        return [score for score in found if score is not None]


def _subtasks(groups: Any) -> set[str]:
    if not isinstance(groups, dict):
        return set()
    return {task for members in groups.values() if isinstance(members, list) for task in map(str, members)}


def _headline(task: str, row: Mapping[str, Any]) -> Score | None:
    for key, value in row.items():
        metric, comma, kept = key.partition(",")
        number = figure(value)
        if comma and number is not None and not metric.endswith("_stderr"):
            name = str(row.get("alias") or task).strip(" -") or task
            return Score(name, metric, number, figure(row.get(f"{metric}_stderr,{kept}")))
    return None


reader = LmEval()
