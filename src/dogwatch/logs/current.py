"""Which of a log's counters is the job's progress; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dogwatch.logs.interface import EPOCH, EPOCH_DONE, INNER, OWNER
from dogwatch.model import Step

STALE = 65536  # bytes of log without a word from a counter, while its equals spoke


@dataclass(frozen=True, slots=True)
class Slot:
    """The newest record of one counter and where in the log it stood."""

    at: int
    step: Step


def current(slots: Sequence[Slot]) -> Slot | None:
    """The owner's counters before ours, those with a total before those without, a run's before an
    epoch's; epochs are refined by the counter inside them."""
    if len(slots) < 2:
        return slots[0] if slots else None
    known = [slot for slot in slots if slot.step.rank >= OWNER] or list(slots)
    known = [slot for slot in known if slot.step.total] or known
    level = max(_level(slot) for slot in known)
    best = _fullest([slot for slot in known if _level(slot) == level])
    if level % 10 == EPOCH // 10:
        return _refined(best, [slot for slot in known if _level(slot) % 10 == INNER // 10])
    return best


def _level(slot: Slot) -> int:
    return slot.step.rank // 10


def _fullest(equals: Sequence[Slot]) -> Slot:
    """Of counters that span as much: one that still moves before one that is full, then the longest."""
    newest = max(slot.at for slot in equals)
    fresh = [slot for slot in equals if newest - slot.at <= STALE]
    moving = [slot for slot in fresh if slot.step.total and slot.step.done < slot.step.total]
    return max(moving or fresh, key=_length)


def _length(slot: Slot) -> tuple[float, str, int, int, float, float]:
    """Complete, so that the choice never depends on the order in which the counters were met."""
    step = slot.step
    return (step.total or 0.0, step.unit, slot.at, step.rank, step.done, step.rate or 0.0)


def _refined(epoch: Slot, inner: Sequence[Slot]) -> Slot:
    """(epoch - 1 + batch / batches) / epochs where both are known and the batch belongs to that epoch."""
    total = epoch.step.total
    if not total or not inner:
        return epoch
    inside = max(inner, key=lambda slot: (slot.at, _length(slot)))
    begun = inside.at >= epoch.at and inside.step.total
    part = min(1.0, inside.step.done / inside.step.total) if begun and inside.step.total else 0.0
    closed = epoch.step.rank % 10 == EPOCH_DONE % 10 and inside.at != epoch.at
    whole = epoch.step.done if closed else epoch.step.done - 1
    done = round(min(total, max(0.0, whole + part)), 6)
    return Slot(max(epoch.at, inside.at), replace(epoch.step, done=done))
