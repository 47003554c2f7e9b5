"""MLPerf's own records: `:::MLLOG {"key": "epoch_stop", "metadata": {"epoch_num": 3}}`.

They measure the run as the benchmark does, in epochs or samples, and outrank whatever else is printed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from dogwatch.logs.interface import EPOCH, EXACT, SUITE, Format, FormatPlugin
from dogwatch.model import Finished, LogEvent, Metric, Phase, Step

_OVER = ("epoch_stop", "eval_accuracy", "eval_stop", "block_stop", "run_stop", "eval_error", "tracked_stats")
_RECORD = re.compile(rb':::mllog[ ]{0,2}\{[^\n]{0,200}?"key": ?"([a-z_]{1,40})"')
_COUNTS = (
    ("epoch_num", "epochs"),
    ("epoch", "epochs"),
    ("step_num", "steps"),
    ("samples_count", "samples"),
    ("first_epoch_num", ""),
)
_PHASES = {"init_start": "starting", "run_start": "training", "epoch_start": "training", "eval_start": "validating"}
_PHASES |= {"block_start": "training"}


def sift(low: bytes) -> Iterator[tuple[str, int]]:
    """One counter for what is behind, one for what was begun."""
    for found in _RECORD.finditer(low):
        key = found[1].decode()
        if key in _OVER:
            yield ("over" if key != "run_stop" else "run over"), found.start()
        elif key.endswith("_start"):
            yield "opened", found.start()


def read(line: str) -> list[LogEvent]:
    """How far the record says the run is; a record that only configures says nothing."""
    at = line.lower().find(":::mllog")
    opening = line.find("{", at) if at >= 0 else -1
    if opening < 0 or len(line) - opening > 8192:
        return []
    try:
        record = json.JSONDecoder(parse_int=_whole).raw_decode(line, opening)[0]
    except (ValueError, RecursionError):
        return []
    key, about = record.get("key"), record.get("metadata")
    if not isinstance(key, str) or not isinstance(about, dict):
        return []
    marks: list[LogEvent] = [Phase(_PHASES[key])] if key in _PHASES else []
    step = _step(about, EXACT if key in _OVER else EPOCH) if key in _OVER or key == "epoch_start" else None
    value = record.get("value")
    if step:
        marks.append(step)
        if key in ("eval_accuracy", "eval_error") and isinstance(value, float) and math.isfinite(value):
            marks.append(Metric(key, value))
    if key == "run_stop" and str(about.get("status", "success")) == "success":
        marks.append(Finished("run_stop: success"))
    return marks


def _step(about: dict[str, Any], rank: int) -> Step | None:
    for name, unit in _COUNTS:
        value = about.get(name)
        if isinstance(value, float) and unit and 0 <= value < 1e15:
            return Step(value, None, unit, None, rank)
    return None


def _whole(digits: str) -> float:
    return float(digits) if len(digits) <= 20 else math.nan


rows = (Format("mlperf", (b":::mllog",), read, sift=sift, family="mlperf", weight=SUITE),)

PLUGIN = FormatPlugin("mllog", rows)
