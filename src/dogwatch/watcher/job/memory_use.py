"""Memory use: how much of its memory limit a job uses, poll by poll. For a scheduler's job, whose processes cannot be
seen, it is what the last memory check measured."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.estimate import memory_growth
from dogwatch.model import Worker
from dogwatch.rules.interface import Held
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.ram import HeldMemory, RamSeries, RamState, Weighed

WEIGHED_BY = 300.0  # seconds of watching after which a tree that nobody weighed is taken for its root
STALE = 1800.0  # seconds after which what was weighed says nothing of now
OWN_SHARE = 0.5  # of a rise of the whole machine's memory, that must be the job's for it to be told of


def held_by(memory: Memory, workers: Sequence[Worker], now: Weighed | None, mono: float) -> Held | None:
    """Its memory: by its processes, or as it was weighed where those are out of sight."""
    if workers:
        whole = _is_whole(memory, workers)
        return held(memory.ram, workers, mono, whole=whole)
    known = bool(memory.ram.whole.by or memory.ram.pieces)
    return weighed(memory.ram, now, mono) if now or known else None


def held(ram: RamState, workers: Sequence[Worker], mono: float, *, whole: bool = True) -> Held | None:
    """The fullest memory that any of the workers lives in, and when it will be full; None where no place said. Sizes
    that are not of `whole` trees are no samples."""
    living = [worker for worker in workers if worker.memory_limit and worker.memory_used is not None]
    if not living:
        return None
    worst = max(living, key=lambda worker: (worker.memory_used or 0) / (worker.memory_limit or 1))
    used, limit, machine = worst.memory_used or 0, worst.memory_limit or 1, worst.memory_shared
    if ram.whole.by or ram.pieces or ram.whole.limit != limit or ram.whole.machine != machine:
        ram.whole, ram.pieces = RamSeries(limit=limit, machine=machine), {}
    series = ram.whole
    own = sum(worker.memory_bytes or 0 for worker in workers)
    if whole and memory_growth.sample(series.samples, mono, used, own):
        seconds = memory_growth.full_in(series.samples, limit)
        others = machine and seconds is not None and memory_growth.own_share(series.samples) < OWN_SHARE
        series.full_in = None if others else seconds
    return Held(used, limit, series.full_in, machine)


def _is_whole(memory: Memory, workers: Sequence[Worker]) -> bool:
    """Whether the sizes are of whole trees: a series that begins with the roots alone would rise when the rest came."""
    return (
        not any(worker.children for worker in workers)
        or (memory.learnt.memory is not None and bool(memory.learnt.memory.trees))
        or memory.age > WEIGHED_BY
    )


def weighed(ram: RamState, now: Weighed | None, mono: float) -> Held | None:
    """The same of a scheduler's job: what was measured of it `now`, if anything, or lately; of one with several
    pieces, each of which has memory of its own, the piece that will be full first."""
    if now is not None and now.pieces is not None:
        pieces = now.pieces.items()
        ram.pieces = {piece: _taken(ram.pieces.get(piece, RamSeries()), row, mono) for piece, row in pieces}
        ram.whole, ram.weighed = RamSeries(), mono
    elif now is not None and now.whole is not None:
        ram.whole, ram.pieces, ram.weighed = _taken(ram.whole, now.whole, mono), {}, mono
    all_series = ram.pieces or {"": ram.whole}
    held = [of_piece for piece, series in all_series.items() if (of_piece := _held(piece, series, mono)) is not None]
    return min(held, key=_nearness, default=None)


def _nearness(held: Held) -> tuple[float, float]:
    return (float("inf") if held.full_in is None else held.full_in, -held.used / held.limit)


def _held(piece: str, series: RamSeries, mono: float) -> Held | None:
    if series.used is None or series.limit is None or series.weighed is None or not 0 <= mono - series.weighed < STALE:
        return None
    left = None if series.left is None else max(0.0, series.left - (mono - series.weighed))
    counter = series.counter if series.by != "cgroup" else ""
    return Held(series.used, series.limit, series.full_in, counter=counter, rough=series.rough, piece=piece, left=left)


def _taken(series: RamSeries, row: HeldMemory, mono: float) -> RamSeries:
    """The series with one more sample. On several nodes each has its share of the limit, and the fullest is known by
    the most that one task held beyond the others, which is a peak: only what it has grown by since counts."""
    counted, nodes = row.by != "cgroup", row.nodes or series.nodes
    limit = row.limit or (row.given // nodes if row.given else series.limit)
    if limit != series.limit or row.by != series.by:
        series = RamSeries(limit=limit, nodes=nodes, by=row.by)
    used = row.used / nodes if counted else row.used
    if counted and nodes > 1:
        ahead = 0 if row.usual is None else row.top - row.usual
        series.ahead = ahead if series.ahead is None else series.ahead
        used += max(0, ahead - series.ahead)
    series.weighed, series.used, series.rough, series.left = mono, used, not row.exact, row.left
    series.counter = row.counter or "the scheduler"
    if not limit or used > limit:
        # More than it may have is not held: nothing limits it, or what processes share is counted for each.
        series.used, series.full_in, series.samples = None, None, []
    elif memory_growth.sample(series.samples, mono, used, used):
        series.full_in = memory_growth.full_in(series.samples, limit)
    return series
