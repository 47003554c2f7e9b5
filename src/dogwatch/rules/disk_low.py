"""A filesystem the job writes to is nearly full, in bytes or in inodes."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level
from dogwatch.rules.interface import Case, Disk

name = "disk_low"
needs = "disks"

LEAST_SHARE = 0.10
LEAST_BYTES = 10_000_000_000
NO_ROOM = 0.01


def judge(case: Case, now: float) -> Iterator[Finding]:
    if isinstance(case.known.state, Ended):
        return
    for disk in case.disks.values():
        told = low(disk)
        if told is not None:
            level, text = told
            yield Finding(case.job.ref, name, level, text, disk.path)


def low(disk: Disk) -> tuple[Level, str] | None:
    """Why this disk is low, with how much it matters, or None. A filesystem that counts no inodes
    (btrfs and kin report 0) is not out of them."""
    if disk.total and (disk.free < LEAST_SHARE * disk.total or disk.free < LEAST_BYTES):
        level = Level.CRITICAL if disk.free < NO_ROOM * disk.total else Level.WARNING
        share = 100 * disk.free / disk.total
        return level, f"{disk.free / 1e9:.1f} GB ({share:.0f} %) free on the disk of {disk.path}"
    if disk.inodes and disk.inodes_free < LEAST_SHARE * disk.inodes:
        level = Level.CRITICAL if disk.inodes_free < NO_ROOM * disk.inodes else Level.WARNING
        return level, f"{disk.inodes_free:,} of {disk.inodes:,} inodes free on the disk of {disk.path}"
    return None
