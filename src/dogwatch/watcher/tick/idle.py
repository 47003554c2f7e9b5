"""Whether a machine that its runs have to themselves does nothing, as far as polls can see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dogwatch.model import Ended, Known
from dogwatch.rules.interface import Idle
from dogwatch.sources import kind_of
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire.programs import Gpus

BUSY_PERCENT = 2.0


class FreeGpus:
    """For how long no process was on any GPU of a place, and none computed, over the polls that asked."""

    def __init__(self) -> None:
        self._since: float | None = None

    def take(self, gpus: Gpus | None, mono: float) -> None:
        """What a poll said of them; one that said nothing changes nothing."""
        if gpus is not None and gpus.gpus:
            self._since = None if any(_is_used(gpu.processes, gpu.used) for gpu in gpus.gpus) else self._since or mono

    def seconds(self, mono: float) -> float:
        return 0.0 if self._since is None else max(0.0, mono - self._since)


def _is_used(processes: object, used: float | None) -> bool:
    """A GPU whose processes cannot be seen counts as used unless it says that it does nothing."""
    return bool(processes) or used is None or used > BUSY_PERCENT


def idle(
    jobs: Iterable[WatchedJob],
    after: Mapping[str, Known],
    gpus_free: float,
    price_per_hour: float | None,
    stop: str,
) -> Idle | None:
    """What the polls of a place show; None where no run has its machine to itself."""
    watched = list(jobs)
    if not any(kind_of(one.job.source).has_the_machine for one in watched):
        return None
    states = [after[one.job.ref] for one in watched if one.job.ref in after]
    all_over = all(isinstance(known.state, Ended) and known.settled for known in states)
    return Idle(all_over, gpus_free, price_per_hour, stop)
