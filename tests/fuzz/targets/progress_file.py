"""DOGWATCH_PROGRESS: lines of JSON that a program appends to say how far it is."""

from __future__ import annotations

import json
import math

from dogwatch.logs.reader import Reader
from tests.fuzz.dice import Dice, documents

TRUTH = {"step": 3, "total": 10, "unit": "steps", "phase": "validating", "loss": 0.5, "time": 1794780000.0}


def target(data: bytes) -> None:
    """Figures are finite numbers and counts are not negative; whatever a line says, the next one is read."""
    dice = Dice(data)
    text = dice.document(TRUTH).encode("utf-8", "replace")
    reading = Reader().feed(text + b"\n")
    if reading.step is not None:
        assert 0 <= reading.step.done < math.inf
        assert reading.step.total is None or 0 <= reading.step.total < math.inf
    assert all(math.isfinite(value) for value in reading.metrics.values())
    json.dumps(reading.metrics, allow_nan=False)


def seeds() -> list[bytes]:
    lines = b'\0{"step": 300, "total": 1000, "loss": 0.41}\n{"step": 301, "total": 1000, "phase": "validating"}\n'
    return [*documents(TRUTH, {"epoch": 1, "epochs": 3}, {"step": "3", "loss": None}), lines]
