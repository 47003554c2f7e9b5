"""JSON objects, one per line, with keys that speak for themselves: step, total_steps, loss, epoch."""

from __future__ import annotations

import json
import math
import re
from functools import partial

from dogwatch.logs.interface import BAR, EPOCH_DONE, INNER, PART, PERCENT, RUN, TRAINER, Format, FormatPlugin, number
from dogwatch.model import LogEvent, Metric, Phase, Step

_DONE = (
    "global_step",
    "current_steps",
    "step",
    "steps",
    "num_updates",
    "iteration",
    "iter",
    "cur_iter",
    "processed",
    "completed",
    "done",
)
_TOTAL = ("total_steps", "max_steps", "num_steps", "total_iterations", "max_iters", "total_items", "total")
_ITEMS, _TOTAL_ITEMS = ("processed", "completed", "done"), ("total_items", "total")
_EPOCHS = ("total_epochs", "num_epochs", "max_epochs", "epochs")
_UNITS = {
    "num_updates": "updates",
    "iteration": "iterations",
    "iter": "iterations",
    "cur_iter": "iterations",
    "processed": "items",
    "completed": "items",
    "done": "items",
}
_NOT_METRICS = frozenset({*_DONE, *_TOTAL, *_EPOCHS, "epoch", "rate", "percentage", "progress"})
_NESTED, _LONGEST, _MOST = 64, 65536, 64
_NUMBER = re.compile(r"[-+]?\d{1,20}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?", re.ASCII)
_KEYS = (
    "step",
    "steps",
    "iter",
    "iteration",
    "epoch",
    "loss",
    "done",
    "processed",
    "completed",
    "num_updates",
    "progress",
)
_HINT = rf'(?:{"|".join(_KEYS)})"\s{{0,9}}:'.encode()


def _read(llama: bool, line: str) -> list[LogEvent]:
    """The counters and numbers of an object that ends the line; anything else means nothing here."""
    opening = line.find('{"')
    text = line[opening:].strip() if opening >= 0 else ""
    if not text.endswith("}") or len(text) > _LONGEST or ":::MLP" in line[:opening] or ":::MLLOG" in line[:opening]:
        return []
    if text.count("{") + text.count("[") > _NESTED or ("current_steps" in text) is not llama:
        return []
    try:
        record = json.loads(text, parse_int=_whole, parse_constant=float)
    except ValueError:
        return []
    numbers = {key: number for key, value in record.items() if (number := _value(value)) is not None}
    steps = _steps(numbers, _word(record.get("unit")))
    if not steps and "loss" not in numbers:
        return []
    phase = _word(record.get("phase")) or ("training" if "loss" in numbers else "")
    doing: list[LogEvent] = [Phase(phase)] if phase else []
    return [*steps, *doing, *_metrics(numbers)]


def _word(value: object) -> str:
    """A short name, or nothing."""
    return value if isinstance(value, str) and len(value) <= 32 and value.isidentifier() else ""


def _value(value: object) -> float | None:
    """A number, also one in quotes as some programs write it."""
    if isinstance(value, str):
        return number(value) if len(value) < 32 and _NUMBER.fullmatch(value) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _steps(numbers: dict[str, float], unit: str) -> list[LogEvent]:
    done = next((key for key in _DONE if _counts(numbers.get(key))), None)
    epoch = numbers.get("epoch")
    epochs: list[LogEvent] = []
    if epoch is not None and _counts(epoch):
        total = next((numbers[key] for key in _EPOCHS if _counts(numbers.get(key))), None)
        rank = EPOCH_DONE if epoch.is_integer() else PART
        epochs = [Step(epoch, total or None, "epochs", None, rank)]
    if done is None:
        return epochs or _percent(numbers)
    items = next((key for key in _ITEMS if done not in _ITEMS and _counts(numbers.get(key))), None)
    totals = [key for key in _TOTAL if _counts(numbers.get(key)) and not (items and key in _TOTAL_ITEMS)]
    total = numbers[totals[0]] if totals else None
    rate = numbers.get("rate")
    if items:  # the total of a line that counts both is that of the items
        of = next((numbers[key] for key in _TOTAL_ITEMS if _counts(numbers.get(key))), None)
        both = [(done, total, _UNITS.get(done, "steps")), (items, of, unit or "items")]
        return [Step(numbers[key], whole or None, what, None, RUN) for key, whole, what in both]
    inside = done == "iter" and bool(epochs) and total is None
    step = Step(numbers[done], total or None, unit or _UNITS.get(done, "steps"), rate if _counts(rate) else None, RUN)
    return [Step(step.done, None, step.unit, step.rate, INNER), *epochs] if inside else [step]


def _percent(numbers: dict[str, float]) -> list[LogEvent]:
    """A share of the whole, in per cent; what is at most 1 may be a part of one."""
    share = numbers.get("progress", numbers.get("percentage", 0.0))
    return [Step(share, 100.0, "%", None, PERCENT)] if 1.0 < share <= 100.0 else []


def _metrics(numbers: dict[str, float]) -> list[LogEvent]:
    fit = [Metric(k, v) for k, v in numbers.items() if k not in _NOT_METRICS and len(k) <= 64 and k.isprintable()]
    return list(fit[:_MOST])


def _counts(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and 0 <= value < 1e15


def _whole(digits: str) -> float:
    """An integer as far as a float can tell; thousands of digits are not a number anyone meant."""
    return float(digits) if len(digits) <= 20 else math.nan


rows = (
    Format(
        "jsonl",
        tuple(f'{key}"'.encode() for key in _KEYS),
        partial(_read, False),
        seeks_step=True,
        hint=_HINT,
        family="jsonl",
        weight=BAR,
    ),
    Format("llamafactory", (b'"current_steps"',), partial(_read, True), True, family="llamafactory", weight=TRAINER),
)

PLUGIN = FormatPlugin("jsonl", rows)
