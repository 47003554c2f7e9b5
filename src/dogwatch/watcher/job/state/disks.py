"""Disks: what was left on a job's disks, poll by poll, and when it will be gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from dogwatch.estimate import depletion
from dogwatch.rules.interface import Disk


class DiskState(Struct, omit_defaults=True):
    """`left` by what can be used up and the disk: samples of our time and what was left then."""

    left: dict[str, list[list[float]]] = field(default_factory=dict)


def gone_in(state: DiskState, disks: Mapping[str, Disk], mono: float) -> dict[tuple[str, str], float]:
    """Remember what is left on the disks, and tell the seconds until it is gone where a trend says so."""
    seconds_left = {}
    for mount, disk in disks.items():
        for what, left, whole in _kinds(disk):
            if not whole:
                continue
            samples = state.left.setdefault(f"{what} {mount}", [])
            depletion.sample(samples, mono, left)
            seconds = depletion.gone_in(samples)
            if seconds is not None:
                seconds_left[mount, what] = seconds
    if len(state.left) > 4 * len(disks):
        state.left = {key: samples for key, samples in state.left.items() if key.partition(" ")[2] in disks}
    return seconds_left


def _kinds(disk: Disk) -> Iterator[tuple[str, int, int]]:
    """What can be used up: its name, what is left, and of how much."""
    yield "bytes", disk.free, disk.total
    yield "inodes", disk.inodes_free, disk.inodes
    if disk.quota is not None:
        yield "quota", disk.quota.free, disk.quota.limit
        yield "files", disk.quota.files_free, disk.quota.files
