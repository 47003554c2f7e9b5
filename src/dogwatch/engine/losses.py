"""Losses: what the logs of a job say its loss is, remembered from look to look."""

from __future__ import annotations

from dogwatch.engine.memory import Memory
from dogwatch.engine.reading import News
from dogwatch.estimate import loss
from dogwatch.model import Loss, Progress


def watch_loss(memory: Memory, news: News, progress: Progress | None, mono: float) -> tuple[bool, Loss | None]:
    """Take in the newest values: whether there were any to judge by, and what is wrong with them."""
    if not news.log_grew:
        return False, None
    step = progress.step if progress is not None else None
    values: dict[str, float | None] = {name: value for name, value in news.metrics.items() if loss.is_loss(name)}
    values |= dict.fromkeys(name for name in news.broken if loss.is_loss(name))
    added = False
    for name, value in values.items():
        if name in memory.losses or len(memory.losses) < loss.MOST_NAMES:
            added |= loss.sample(memory.losses.setdefault(name, []), mono, step, value)
    return added, loss.judge(memory.losses, news.metrics) if added else None
