"""Holdings: a job's outputs, checkpoints and disks, in the plain values that every interface prints."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from dogwatch.clock import recorded, stamp
from dogwatch.rules.interface import Disk
from dogwatch.watcher.job.file_checks import records_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.files import growth_per_minute

if TYPE_CHECKING:
    from dogwatch.wire.documents.artifacts import CheckpointsDocument, DiskDocument, OutputDocument

MOST_OUTPUTS_SHOWN = 64
TOGETHER = 1.0


def outputs_document(memory: Memory) -> list[OutputDocument]:
    """Those that changed last, by name. A verdict that speaks against a file counts only at the end, or where its
    writer has gone on to another."""
    made = memory.produced
    told = {spoilt.path for spoilt in made.broken_files()}
    found: list[OutputDocument] = []
    newest = sorted(
        memory.files.outputs, key=lambda path: (made.files.get(path) or {}).get("changed") or 0.0, reverse=True
    )
    for path in sorted(newest[:MOST_OUTPUTS_SHOWN]):
        if not (samples := memory.files.outputs[path]):
            continue
        one = made.files.get(path) or {"mark": [samples[-1][1]], "changed": None, "still": 0.0}
        judged = one.get("verdict") or {}
        held_back = judged.get("verdict") == "damaged" and path not in told
        found.append(
            {
                "path": path,
                "size": int(samples[-1][1]),
                "growth_per_minute": growth_per_minute(samples),
                "quiet_seconds": round(one["still"], 1),
                "changed_at": stamp(one["changed"]),
                "records": records_of(path, one),
                "verdict": None if held_back else judged.get("verdict"),
                "why": None if held_back else judged.get("why") or None,
            }
        )
    return found


def checkpoints_document(
    memory: Memory, at: float, skew: float = 0.0, *, ended: bool = False
) -> CheckpointsDocument | None:
    """`skew` is what our clock is ahead of the place's, whose times the checkpoints bear. Of a job that has ended no
    next one is expected."""
    made = memory.produced
    if not memory.files.checkpoints:
        return None
    times = sorted(time + skew for time in memory.files.checkpoints.values())
    newest = max(memory.files.checkpoints, key=lambda path: (memory.files.checkpoints[path], path))
    interval = checkpoint_interval(times)
    intact = made.newest_intact()
    judged = (made.checkpoints.get(newest) or {}).get("verdict") or {}
    return {
        "count": len(times),
        "newest": newest,
        "newest_at": recorded(times[-1]),
        "interval_seconds": interval,
        "next_at": None if interval is None or ended else stamp(times[-1] + interval),
        "newest_iteration": made.iteration(newest),
        "newest_verdict": judged.get("verdict"),
        "newest_why": judged.get("why") or None,
        "intact": intact,
        "intact_at": None if intact is None else stamp(memory.files.checkpoints[intact] + skew),
        "intact_iteration": None if intact is None else made.iteration(intact),
        "guessed": bool(made.guessed),
    }


def checkpoint_interval(times: list[float]) -> float | None:
    """The usual pause between checkpoints: the median, with those written together (one per worker)
    counted as one; None until there were two such waves."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    together = max(TOGETHER, max(gaps, default=0.0) / 10)
    waves = sorted(gap for gap in gaps if gap > together)
    return round(waves[len(waves) // 2], 1) if waves else None


def disks_document(disks: Mapping[str, Disk], gone_in: Mapping[tuple[str, str], float]) -> list[DiskDocument]:
    """With the seconds until the first of their rooms is used up, where a trend says so."""
    found: list[DiskDocument] = []
    for mount, disk in disks.items():
        soonest = min((seconds for (where, _), seconds in gone_in.items() if where == mount), default=None)
        quota = disk.quota
        found.append(
            {
                "path": disk.path,
                "free": disk.free,
                "total": disk.total,
                "inodes_free": disk.inodes_free,
                "inodes": disk.inodes,
                "quota": None
                if quota is None
                else {
                    "who": quota.who,
                    "free": quota.free,
                    "limit": quota.limit,
                    "files_free": quota.files_free,
                    "files": quota.files,
                    "over_soft": quota.over_soft,
                },
                "full_in_seconds": None if soonest is None else round(soonest),
            }
        )
    return found
