"""A filesystem the job writes to is nearly full, or somebody's quota on it is: in bytes, inodes or files."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Ended, Finding, Level
from dogwatch.rules.interface import Case, Disk, Rule

name = "disk_low"

LEAST_SHARE = 0.10
LEAST_BYTES = 10_000_000_000
NO_ROOM = 0.01


def judge(case: Case, now: float) -> Iterator[Finding]:
    if isinstance(case.known.state, Ended):
        return
    for mount, disk in case.disks.items():  # by its mount: the path by which a job's disk is known may change
        for what, level, text in low(disk):
            yield Finding(case.job.ref, name, level, text, f"{mount} {what}".rstrip())


def gone(case: Case, what: str) -> Closing:
    """When that very number was read again; a disk or a quota that was not read has no more room than before."""
    for mount, disk in case.disks.items():
        known = {"": disk.total, "inodes": disk.inodes} | dict.fromkeys(("quota", "files", "soft"), disk.quota)
        if any(what == f"{mount} {kind}".rstrip() and whole for kind, whole in known.items()):
            return Closing.RESOLVED
    return Closing.OPEN


def low(disk: Disk) -> Iterator[tuple[str, Level, str]]:
    """What of this disk is low, with how much it matters. A filesystem that counts no inodes (btrfs and kin
    report 0) is not out of them, and a limit of 0 is none."""
    where = f"on the disk of {disk.path}"
    if _bytes_low(disk.free, disk.total):
        yield "", _level(disk.free, disk.total), f"{_room(disk.free, disk.total)} free {where}"
    if disk.inodes_free < LEAST_SHARE * disk.inodes:
        text = f"{disk.inodes_free:,} of {disk.inodes:,} inodes free {where}"
        yield "inodes", _level(disk.inodes_free, disk.inodes), text
    quota = disk.quota
    if quota is None:
        return
    if _bytes_low(quota.free, quota.limit):
        text = f"{_room(quota.free, quota.limit)} left of the {quota.who}'s quota {where}"
        yield "quota", _level(quota.free, quota.limit), text
    if quota.files_free < LEAST_SHARE * quota.files:
        text = f"{quota.files_free:,} of {quota.files:,} files left of the {quota.who}'s quota {where}"
        yield "files", _level(quota.files_free, quota.files), text
    if quota.over_soft:
        text = f"the {quota.who} is over the soft limit of the quota {where}"
        yield "soft", Level.WARNING, f"{text}; when its grace is over, nothing can be written"


def _bytes_low(free: int, whole: int) -> bool:
    return bool(whole) and (free < LEAST_SHARE * whole or free < LEAST_BYTES)


def _level(left: int, whole: int) -> Level:
    return Level.CRITICAL if left < NO_ROOM * whole else Level.WARNING


def _room(free: int, whole: int) -> str:
    amount = f"{free / 1e9:.1f} GB" if free >= 10**9 else f"{free / 1e6:.0f} MB"
    return f"{amount} ({100 * free / whole:.0f} %)"


PLUGIN = Rule(name, judge=judge, needs="disks", gone=gone, spans_attempts=True)
