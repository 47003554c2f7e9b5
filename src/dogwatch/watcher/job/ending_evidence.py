"""Evidence: what a poll measured where a job ended, and speaks for why: a full disk, a used-up quota, a broken GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dogwatch.diagnosis import OutsideEvidence
from dogwatch.diagnosis.catalog.gpu import XIDS_OF_PROGRAMS
from dogwatch.model import Gpu
from dogwatch.rules.interface import Disk
from dogwatch.text import plain

# A program that met the end of a disk has mostly deleted its half of a file since: a little is as good as nothing.
LEFT, SHARE = 64 << 20, 0.001


def ending_evidence(disks: Mapping[str, Disk], gpus: Iterable[Gpu]) -> tuple[OutsideEvidence, ...]:
    """All of them, the plainest first."""
    return (*_of_gpus(gpus), *_of_disks(disks))


def _of_gpus(gpus: Iterable[Gpu]) -> Iterator[OutsideEvidence]:
    for gpu in gpus:
        numbers = [number for number in gpu.xid if number not in XIDS_OF_PROGRAMS]
        if numbers:
            yield OutsideEvidence(
                "gpu_hardware", f"the driver reported Xid {numbers[-1]} of GPU {gpu.index} while it ran"
            )
        elif gpu.trouble:
            yield OutsideEvidence("gpu_hardware", f"GPU {gpu.index} cannot be used: {plain(gpu.trouble, 200)}")


def _of_disks(disks: Mapping[str, Disk]) -> Iterator[OutsideEvidence]:
    for disk in disks.values():
        where, quota = plain(disk.path, 200), disk.quota
        if quota is not None and quota.limit and quota.free <= _little(quota.limit):
            yield OutsideEvidence(
                "disk_quota", f"the quota of the {quota.who} on {where} had {_size(quota.free)} left at its end"
            )
        if disk.inodes and not disk.inodes_free:
            yield OutsideEvidence("inodes_full", f"the disk of {where} had no inodes left at its end")
        elif disk.total and disk.free <= _little(disk.total):
            yield OutsideEvidence("disk_full", f"the disk of {where} had {_size(disk.free)} left at its end")


def _little(whole: int) -> float:
    return min(float(LEFT), SHARE * whole)


def _size(left: int) -> str:
    return f"{max(0, left) / 1e6:.1f} MB"
