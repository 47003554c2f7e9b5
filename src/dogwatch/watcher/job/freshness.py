"""Freshness: whether a poll has shown enough of a job to say that a finding is gone. What could not be
seen is not gone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dogwatch.model import Progress, StallState, Worker
from dogwatch.watcher.job.read_files import News, is_quiet
from dogwatch.watcher.job.stall import LIVING
from dogwatch.watcher.job.state.loss import watch_loss
from dogwatch.watcher.job.watched import WatchedJob

_NEVER = float("-inf")


def hear(one: WatchedJob, news: News, progress: Progress | None, workers: Sequence[Worker], mono: float) -> None:
    """Take in what a poll has brought that findings may be gone by."""
    step = progress.step if progress is not None else None
    judged, loss = (
        watch_loss(one.memory.loss, news.metrics, news.broken, step, mono) if news.log_grew else (False, None)
    )
    if judged:
        one.fresh.loss, one.loss = True, loss
    if _living(one.workers) - _living(workers):
        one.fresh.left = mono
    if not is_quiet(news):
        one.fresh.moved = mono


def unsure(one: WatchedJob) -> frozenset[str]:
    """The rules of which nobody can say now whether what they found is gone."""
    fresh, verdict = one.fresh, one.verdict
    cannot_tell = verdict is None or verdict.word is StallState.CANNOT_TELL
    # What the last words of workers that have ended moved does not show that the others go on.
    quiet = fresh.left > _NEVER and fresh.moved <= fresh.left
    return _unsure(cannot_tell, quiet, one.memory.tempo.slow is not None, fresh.loss)


@cache
def _unsure(cannot_tell: bool, quiet: bool, slow: bool, loss: bool) -> frozenset[str]:
    """One set for all jobs of which the same is known."""
    found = set[str]()
    if cannot_tell:
        found |= {"stalled", "silent", "slow"}
    if quiet:
        found |= {"stalled", "silent"}
    if slow:
        found.add("slow")  # it has not recovered, whatever else it does now
    if not loss:
        found.add("loss_bad")
    return frozenset(found)


def _living(workers: Sequence[Worker]) -> set[int]:
    return {worker.index for worker in workers if worker.doing in LIVING}
