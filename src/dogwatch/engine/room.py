"""Room: what is left on a job's disks, remembered from look to look, and when it will be gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dogwatch.engine.look import disk_paths
from dogwatch.engine.memory import Memory
from dogwatch.engine.steady import same_room
from dogwatch.estimate import trend
from dogwatch.model import Job
from dogwatch.rules.interface import Disk


class Rooms:
    """The filesystems of jobs in one look; jobs that write to the same directories share the answer."""

    def __init__(self, disks: Mapping[str, Any]) -> None:
        self._disks = disks
        self._found: dict[tuple[str, ...], dict[str, Disk]] = {}
        self._same: dict[tuple[int, int], bool] = {}

    def of(self, job: Job) -> dict[str, Disk]:
        """The job's filesystems, each once however many of its paths lie on it."""
        paths = disk_paths(job)
        found = self._found.get(paths)
        if found is None:
            found = self._found[paths] = {}
            for path in paths:
                entry = self._disks.get(path)
                if entry is not None and entry["mount"] not in found:
                    sizes = (entry["free"], entry["total"], entry["inodes_free"], entry["inodes"])
                    found[entry["mount"]] = Disk(path, *sizes)
        return found

    def same(self, before: Mapping[str, Disk], now: Mapping[str, Disk]) -> bool:
        """Whether these have about the room that they had; both are held by somebody as long as we live."""
        key = id(before), id(now)
        if key not in self._same:
            self._same[key] = same_room(before, now)
        return self._same[key]


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
