"""How often the rule about losses speaks, on real logs replayed in pieces as a watcher would see them grow."""

from __future__ import annotations

import math

from dogwatch.estimate import loss
from dogwatch.logs.reader import Reader
from dogwatch.model import Loss

PIECES = 240  # pieces in which a log comes, at most
APART = 60.0  # seconds between two of them
LEAST = 512  # bytes of a piece


def replay(text: bytes) -> Loss | None:
    """The first thing that is said of a log's loss while it grows."""
    reader, series = Reader(), dict[str, loss.Samples]()
    size = max(LEAST, math.ceil(len(text) / PIECES))
    for look, start in enumerate(range(0, len(text), size)):
        said = reader.feed(text[start : start + size])
        step = said.step.done if said.step is not None else None
        values: dict[str, float | None] = {name: value for name, value in said.metrics.items() if loss.is_loss(name)}
        values |= dict.fromkeys(name for name in said.broken if loss.is_loss(name))
        added = False
        for name, value in values.items():
            added |= loss.sample(series.setdefault(name, []), APART * look, step, value)
        found = loss.judge(series, said.metrics) if added else None
        if found is not None:
            return found
    return None
