"""Fresh: whether what was learnt of a job is enough to say that a finding is gone: what nobody could see is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.engine.losses import watch_loss
from dogwatch.engine.reading import News, is_quiet
from dogwatch.engine.standing import LIVING
from dogwatch.model import Progress, Standing, Worker

if TYPE_CHECKING:
    from dogwatch.engine.visit import Watched


@dataclass(slots=True)
class Fresh:
    """What this watcher itself has seen of a job: whether its loss was judged, which workers could be compared, when
    one of them last ended, and when anything last moved."""

    loss: bool = False
    compared: frozenset[str] = frozenset()
    left: float = float("-inf")
    moved: float = float("-inf")


def hear(one: Watched, news: News, progress: Progress | None, workers: Sequence[Worker], mono: float) -> None:
    """Take in what a look has brought that findings may be gone by."""
    told, loss = watch_loss(one.memory, news, progress, mono)
    if told:
        one.fresh.loss, one.loss = True, loss
    if _living(one.workers) - _living(workers):
        one.fresh.left = mono
    if not is_quiet(news):
        one.fresh.moved = mono


def unsure(one: Watched) -> frozenset[str]:
    """The rules of which nobody can say now whether what they found is gone."""
    fresh, verdict, found = one.fresh, one.verdict, set[str]()
    if verdict is None or verdict.word is Standing.CANNOT_TELL:
        found |= {"stalled", "silent", "slow"}
    # What the last words of workers that have ended moved does not show that the others go on.
    if fresh.left > float("-inf") and fresh.moved <= fresh.left:
        found |= {"stalled", "silent"}
    if one.memory.slow is not None:
        found.add("slow")  # it has not recovered, whatever else it does now
    if not fresh.loss:
        found.add("loss_bad")
    return frozenset(found)


def _living(workers: Sequence[Worker]) -> set[int]:
    return {worker.index for worker in workers if worker.doing in LIVING}
