"""Disk space: what is free on the file systems of a job, poll by poll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dogwatch.model import Job
from dogwatch.rules.interface import Disk, Quota
from dogwatch.watcher.job.probe_answer import disk_paths
from dogwatch.watcher.job.unchanged import same_room
from dogwatch.wire import programs, sections


class DiskSpace:
    """The filesystems of jobs in one poll; jobs that write to the same directories share the answer."""

    def __init__(self, disks: Mapping[str, sections.Disk], quotas: Mapping[str, Sequence[programs.Quota]]) -> None:
        self._disks, self._quotas = disks, quotas
        self._found: dict[tuple[str, ...], dict[str, Disk]] = {}
        self._same: dict[tuple[int, int], bool] = {}

    def of(self, job: Job) -> dict[str, Disk]:
        """The job's filesystems, each once however many of its paths lie on it."""
        paths = disk_paths(job)
        found = self._found.get(paths)
        if found is None:
            found = self._found[paths] = {}
            for path in paths:
                disk = self._disks.get(path)
                if disk is None:
                    continue
                if disk.mount not in found:
                    found[disk.mount] = Disk(path, disk.free, disk.total, disk.inodes_free, disk.inodes)
                if quotas := self._quotas.get(path):
                    quota = tightest(quotas, found[disk.mount].quota)
                    found[disk.mount] = replace(found[disk.mount], quota=quota)
        return found

    def same(self, before: Mapping[str, Disk], now: Mapping[str, Disk]) -> bool:
        """Whether these have about the room that they had; both are held by somebody as long as we live."""
        key = id(before), id(now)
        if key not in self._same:
            self._same[key] = same_room(before, now)
        return self._same[key]


def tightest(rows: Sequence[programs.Quota], known: Quota | None) -> Quota:
    """Of several limits one that is over its soft limit, else that of which the smallest share is left."""
    found = [] if known is None else [known]
    for row in rows:
        free, files_free = max(0, row.limit - row.used), max(0, row.files_limit - row.files)
        over = 0 < row.soft < row.used or 0 < row.files_soft < row.files
        found.append(Quota(row.who, free, row.limit, files_free, row.files_limit, over))
    return min(found, key=_share)


def _share(quota: Quota) -> tuple[bool, float]:
    parts = ((quota.free, quota.limit), (quota.files_free, quota.files))
    return not quota.over_soft, min((left / whole for left, whole in parts if whole), default=1.0)
