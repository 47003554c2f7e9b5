"""A job's outputs, checkpoints and disks, in the plain values that every interface prints."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from dogwatch.clock import recorded, stamp
from dogwatch.rules.interface import Disk
from dogwatch.watcher.job.artifacts import ProducedFile
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
    broken = {spoilt.path for spoilt in made.broken_files()}
    documents: list[OutputDocument] = []
    changed = {path: file.changed or 0.0 for path, file in made.files.items()}
    newest = sorted(memory.files.outputs, key=lambda path: changed.get(path, 0.0), reverse=True)
    for path in sorted(newest[:MOST_OUTPUTS_SHOWN]):
        if not (samples := memory.files.outputs[path]):
            continue
        file = made.files.get(path) or ProducedFile(int(samples[-1][1]), 0.0)
        judged = file.verdict
        if judged is not None and judged.verdict == "damaged" and path not in broken:
            judged = None
        documents.append(
            {
                "path": path,
                "size": int(samples[-1][1]),
                "growth_per_minute": growth_per_minute(samples),
                "quiet_seconds": round(file.still, 1),
                "changed_at": stamp(file.changed),
                "records": records_of(path, file),
                "verdict": None if judged is None else judged.verdict,
                "why": None if judged is None else judged.why or None,
            }
        )
    return documents


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
    judged = made.checkpoints[newest].verdict if newest in made.checkpoints else None
    return {
        "count": len(times),
        "newest": newest,
        "newest_at": recorded(times[-1]),
        "interval_seconds": interval,
        "next_at": None if interval is None or ended else stamp(times[-1] + interval),
        "newest_iteration": made.iteration(newest),
        "newest_verdict": None if judged is None else judged.verdict,
        "newest_why": None if judged is None else judged.why or None,
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
