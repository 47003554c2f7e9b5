"""Loss: what the logs of a job say its losses are, poll by poll."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from dogwatch.estimate import loss
from dogwatch.model import Loss


class LossState(Struct, omit_defaults=True):
    """By the name of the loss: samples of our time, the step and the value, None for one that is no number."""

    values: dict[str, list[list[float | None]]] = field(default_factory=dict)


def watch_loss(
    state: LossState, metrics: Mapping[str, float], broken: Iterable[str], step: float | None, mono: float
) -> tuple[bool, Loss | None]:
    """Take in the newest values: whether there were any to judge by, and what is wrong with them."""
    values: dict[str, float | None] = {name: value for name, value in metrics.items() if loss.is_loss(name)}
    values |= dict.fromkeys(name for name in broken if loss.is_loss(name))
    added = False
    for name, value in values.items():
        if name in state.values or len(state.values) < loss.MOST_NAMES:
            added |= loss.sample(state.values.setdefault(name, []), mono, step, value)
    return added, loss.judge(state.values, metrics) if added else None
