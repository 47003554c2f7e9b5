"""Steady: a job of which a look says what the one before said. It costs its patience clocks, the rules, and the
time of its proof; everything else about it stays as it was described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dogwatch.engine.gpus import is_on_node
from dogwatch.engine.look import Glance
from dogwatch.engine.memory import Memory
from dogwatch.model import Ended, Job, Known, Running, Sighting, Worker
from dogwatch.rules.interface import Disk

if TYPE_CHECKING:
    from dogwatch.engine.visit import Watched

# What a disk may gain or lose before every job on it is described anew.
DISK_SHARE = 0.01
_SAME = ("dev", "ino", "head", "headlen")


def is_steady(
    job: Job, before: Known, after: Known, sighting: Sighting, memory: Memory, told: Any, glance: Glance
) -> bool:
    """Whether this look has nothing to say that is not described already."""
    if sighting.facts is not told or sighting.track is not None or sighting.workers or memory.steps:
        return False
    if isinstance(after.state, Ended) or not after.settled:
        return False
    if after.state is not before.state and after.state != before.state:
        return False
    if (after.native, after.reason, after.attempt) != (before.native, before.reason, before.attempt):
        return False
    ref = job.ref
    if ref in glance.files or ref in glance.late or ref in glance.learnt or ref in glance.closer:
        return False
    if not memory.verified_launch and (job.expect.workers is not None or isinstance(after.state, Running)):
        return False
    if glance.gpus is not None and is_on_node(job, memory, str(glance.facts.get("host") or "")):
        return False
    return all(_says_nothing(answer, memory.logs) for answer in glance.logs.get(ref, ()))


def is_at_rest(one: Watched, after: Known, workers: Sequence[Worker], glance: Glance) -> bool:
    """Whether nothing about a silent job is new but what its processes use."""
    ref = one.job.ref
    if ref in glance.learnt or ref in glance.closer or glance.gpus is not None or not after.settled:
        return False
    return _story(one.known) == _story(after) and [*map(_part, one.workers)] == [*map(_part, workers)]


def _story(known: Known) -> tuple[object, ...]:
    return known.state, known.native, known.reason, known.attempt


def _part(worker: Worker) -> tuple[object, ...]:
    """What a worker is and does, without what it uses."""
    return worker.index, worker.doing, worker.pid, worker.children, worker.outcome


def _says_nothing(answer: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the logs are the files that they were, to the byte."""
    if answer.get("gone") or answer.get("unreadable"):
        return False
    for path, found in answer.get("files", {}).items():
        cursor = known.get(path)
        if cursor is None or "stale_seen" in cursor or found.get("text") or found.get("stale"):
            return False
        if found.get("skipped") or found.get("rotated_from") or found["from"] != cursor["offset"]:
            return False
        if any(found[key] != cursor[key] for key in _SAME):
            return False
    return True


def same_room(before: Mapping[str, Disk], now: Mapping[str, Disk]) -> bool:
    """Whether the disks have about the room that they had."""
    if before is now:
        return True
    if before.keys() != now.keys():
        return False
    return all(_close(disk, now[mount]) for mount, disk in before.items())


def _close(before: Disk, now: Disk) -> bool:
    bytes_moved, inodes_moved = abs(before.free - now.free), abs(before.inodes_free - now.inodes_free)
    same = before.path == now.path and before.total == now.total and before.inodes == now.inodes
    same = same and before.quota == now.quota
    return same and bytes_moved <= DISK_SHARE * now.total and inodes_moved <= DISK_SHARE * now.inodes
