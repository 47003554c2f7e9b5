"""JSON objects, one per line, with keys that speak for themselves: step, total_steps, loss, epoch."""

from __future__ import annotations

import json
import math

from dogwatch.logs.interface import EPOCH_DONE, RUN
from dogwatch.model import Mark, Metric, Step

kind = "jsonl"
needles = (b'"step', b'_step"', b'_steps"', b'"iter', b'"epoch', b'"loss"', b'"done"', b'"processed"', b'"completed"')
seeks_step = True

_DONE = (
    "global_step",
    "current_steps",
    "step",
    "steps",
    "iteration",
    "iter",
    "processed",
    "completed",
    "done",
)
_TOTAL = ("total_steps", "max_steps", "num_steps", "total_iterations", "max_iters", "total_items", "total")
_EPOCHS = ("total_epochs", "num_epochs", "max_epochs", "epochs")
_UNITS = {
    "iteration": "iterations",
    "iter": "iterations",
    "processed": "items",
    "completed": "items",
    "done": "items",
}
_NESTED, _LONGEST, _MOST = 64, 65536, 64


def read(line: str) -> list[Mark]:
    """The counters and numbers of a top-level object; anything else means nothing here."""
    text = line.strip()
    if not (text.startswith("{") and text.endswith("}")) or len(text) > _LONGEST:
        return []
    if text.count("{") + text.count("[") > _NESTED:
        return []
    try:
        record = json.loads(text, parse_int=_whole, parse_constant=float)
    except ValueError:
        return []
    numbers = {k: float(v) for k, v in record.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return _steps(numbers) + _metrics(numbers)


def _steps(numbers: dict[str, float]) -> list[Mark]:
    done = next((key for key in _DONE if _counts(numbers.get(key))), None)
    if done is not None:
        total = next((numbers[key] for key in _TOTAL if _counts(numbers.get(key))), None)
        rate = numbers.get("rate")
        fit = rate if _counts(rate) else None
        return [Step(numbers[done], total or None, _UNITS.get(done, "steps"), fit, RUN)]
    epoch = numbers.get("epoch")
    if epoch is not None and _counts(epoch):
        total = next((numbers[key] for key in _EPOCHS if _counts(numbers.get(key))), None)
        return [Step(epoch, total or None, "epochs", None, EPOCH_DONE)]
    return []


def _metrics(numbers: dict[str, float]) -> list[Mark]:
    counters = {*_DONE, *_TOTAL, *_EPOCHS, "epoch", "rate"}
    fit = [Metric(k, v) for k, v in numbers.items() if k not in counters and len(k) <= 64 and k.isprintable()]
    return list(fit[:_MOST])


def _counts(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and 0 <= value < 1e15


def _whole(digits: str) -> float:
    """An integer as far as a float can tell; thousands of digits are not a number anyone meant."""
    return float(digits) if len(digits) <= 20 else math.nan
