"""Room: what is left on a job's disks, remembered from look to look, and when it will be gone."""

from __future__ import annotations

from collections.abc import Mapping

from dogwatch.engine.memory import Memory
from dogwatch.estimate import trend
from dogwatch.rules.interface import Disk


def gone_in(memory: Memory, disks: Mapping[str, Disk], mono: float) -> dict[tuple[str, str], float]:
    """Remember the room on the disks, and tell the seconds until it is gone where a trend says so."""
    found = {}
    for mount, disk in disks.items():
        for what, left, whole in (("bytes", disk.free, disk.total), ("inodes", disk.inodes_free, disk.inodes)):
            if not whole:
                continue
            samples = memory.room.setdefault(f"{what} {mount}", [])
            trend.sample(samples, mono, left)
            seconds = trend.gone_in(samples)
            if seconds is not None:
                found[mount, what] = seconds
    if len(memory.room) > 2 * len(disks):
        memory.room = {key: samples for key, samples in memory.room.items() if key.partition(" ")[2] in disks}
    return found
