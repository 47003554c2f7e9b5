"""Ram: what the processes of a job hold of the memory that they may use, remembered from look to look; of a Slurm job,
whose processes are out of sight, as it was weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.engine.memory import Memory
from dogwatch.engine.weighing import FACT
from dogwatch.estimate import filling
from dogwatch.model import Worker
from dogwatch.rules.interface import Held

WEIGHED_BY = 300.0  # seconds of watching after which a tree that nobody weighed is taken for its root
STALE = 1800.0  # seconds after which what was weighed says nothing of now
OWN_SHARE = 0.5  # of a rise of the whole machine's memory, that must be the job's for it to be told of


def held_by(memory: Memory, workers: Sequence[Worker], told: Mapping[str, Any] | None, mono: float) -> Held | None:
    """Its memory: by its processes, or as it was weighed where those are out of sight."""
    if workers:
        return held(memory, workers, mono)
    known = "by" in memory.ram or "pieces" in memory.ram
    return weighed(memory, told, mono) if told or known else None


def held(memory: Memory, workers: Sequence[Worker], mono: float) -> Held | None:
    """The fullest memory that any of the workers lives in, and when it will be full; None where no place said."""
    living = [worker for worker in workers if worker.memory_limit and worker.memory_used is not None]
    if not living:
        return None
    worst = max(living, key=lambda worker: (worker.memory_used or 0) / (worker.memory_limit or 1))
    used, limit, machine = worst.memory_used or 0, worst.memory_limit or 1, worst.memory_shared
    if memory.ram.get("limit") != limit or memory.ram.get("machine") != machine:
        memory.ram = {"limit": limit, "machine": machine, "samples": []}
    samples = memory.ram["samples"]
    own = sum(worker.memory_bytes or 0 for worker in workers)
    if _is_whole(memory, workers) and filling.sample(samples, mono, used, own):
        seconds = filling.full_in(samples, limit)
        others = machine and seconds is not None and filling.own_share(samples) < OWN_SHARE
        memory.ram["full_in"] = None if others else seconds
    return Held(used, limit, memory.ram.get("full_in"), machine)


def _is_whole(memory: Memory, workers: Sequence[Worker]) -> bool:
    """Whether the sizes are of whole trees: a series that begins with the roots alone would rise when the rest came."""
    return (
        not any(worker.children for worker in workers)
        or "trees" in (memory.facts.get(FACT) or {})
        or memory.age > WEIGHED_BY
    )


def weighed(memory: Memory, told: Mapping[str, Any] | None, mono: float) -> Held | None:
    """The same of a Slurm job: what was `told` of it in this look, if anything, or lately; of one with several pieces,
    each of which has memory of its own, the one that will be full first."""
    if told is not None and "pieces" in told:
        before = memory.ram.get("pieces", {})
        series = {piece: _taken(before.get(piece, {}), row, mono) for piece, row in told["pieces"].items()}
        memory.ram = {"pieces": series, "weighed": mono}
    elif told is not None and "by" in told:
        memory.ram = _taken(memory.ram, told, mono)
    pieces = memory.ram.get("pieces", {"": memory.ram})
    held = [found for piece, ram in pieces.items() if (found := _held(piece, ram, mono)) is not None]
    return min(held, key=_nearness, default=None)


def _nearness(held: Held) -> tuple[float, float]:
    return (float("inf") if held.full_in is None else held.full_in, -held.used / held.limit)


def _held(piece: str, ram: Mapping[str, Any], mono: float) -> Held | None:
    if ram.get("used") is None or not 0 <= mono - ram["weighed"] < STALE:
        return None
    left = max(0.0, ram["left"] - (mono - ram["weighed"])) if ram.get("left") is not None else None
    return Held(
        ram["used"],
        ram["limit"],
        ram["full_in"],
        counted=ram["by"] != "cgroup",
        rough=ram["rough"],
        piece=piece,
        left=left,
    )


def _taken(ram: dict[str, Any], told: Mapping[str, Any], mono: float) -> dict[str, Any]:
    """The series with one more sample. On several nodes each has its share of the limit, and the fullest is known by
    the most that one task held beyond the others, which is a peak: only what it has grown by since counts."""
    counted, nodes = told["by"] != "cgroup", told.get("nodes") or ram.get("nodes") or 1
    limit = told.get("limit") or (told["given"] // nodes if told.get("given") else ram.get("limit"))
    if limit != ram.get("limit") or told["by"] != ram.get("by"):
        ram = {"limit": limit, "nodes": nodes, "by": told["by"], "samples": []}
    used = told["used"] / nodes if counted else told["used"]
    if counted and nodes > 1:
        ahead = told["top"] - told.get("usual", told["top"])
        used += max(0, ahead - ram.setdefault("ahead", ahead))
    left = told.get("left")
    ram.update(weighed=mono, used=used, rough=not told["anonymous"], full_in=ram.get("full_in"), left=left)
    if not limit or used > limit:
        # More than it may have is not held: nothing limits it, or what processes share is counted for each.
        ram.update(used=None, full_in=None, samples=[])
    elif filling.sample(ram["samples"], mono, used, used):
        ram["full_in"] = filling.full_in(ram["samples"], limit)
    return ram
