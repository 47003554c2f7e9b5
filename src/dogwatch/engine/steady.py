"""Steady: a job of which a look says what the one before said, but for what its processes use. It costs its patience
clocks, the rules, and the time of its proof; everything else about it stays as it was described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dogwatch.engine import launching, tempo
from dogwatch.engine.counting import are_of
from dogwatch.engine.gpus import is_on_node
from dogwatch.engine.look import Glance
from dogwatch.engine.memory import Memory
from dogwatch.engine.standing import stays
from dogwatch.model import Ended, Job, Known, Running, Sighting, Worker
from dogwatch.rules.interface import Disk

if TYPE_CHECKING:
    from dogwatch.engine.visit import Watched

# Of a job that has been silent for so long only the numbers of its processes move: they are told this often, and
# less often the longer it is.
TELL_QUIET, TELL_SHARE, TELL_LEAST = 10.0, 0.1, 30.0
# Between events a memory may lag: a restarted watcher then reads those few seconds of log again.
SAVE_EVERY = 10.0
# Nothing to read again once all that its files said is saved: only patience clocks are lost then.
SAVE_QUIET = 120.0
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


def is_idle(one: Watched, after: Known, sighting: Sighting, glance: Glance, mono: float, watched: float) -> bool:
    """Whether a job at rest goes on resting and nothing about it falls due in this look, after so many seconds more of
    silence: what it takes to see that is less than what it takes to find all of it unchanged."""
    memory = one.memory
    return (
        is_told(one, mono)
        and sighting.track is None
        and isinstance(after.state, Running)
        and _files_stand(one, glance)
        and is_at_rest(one, after, sighting.workers, glance)
        and not must_save(one, mono)
        and not _falls_due(one, glance, mono, watched)
        and not launching.is_open(memory)
    )


def is_told(one: Watched, mono: float) -> bool:
    """Whether a job has been silent for a while, and was told of not long ago."""
    hush = one.memory.hush.get("signs")
    if hush is None or hush.seconds < TELL_QUIET:
        return False
    return 0 <= mono - one.described < max(TELL_QUIET, min(TELL_LEAST, TELL_SHARE * hush.seconds))


def must_save(one: Watched, mono: float) -> bool:
    """Whether the memory of a job that said nothing new is to be saved; sooner while it holds what is not saved yet."""
    return mono - one.saved >= (SAVE_QUIET if one.heard <= one.saved else SAVE_EVERY)


def _files_stand(one: Watched, glance: Glance) -> bool:
    """Whether its logs say that they are what they were, its counters were counted from just that, and of no other
    file of it anything was asked."""
    ref = one.job.ref
    if ref in glance.files or ref in glance.late:
        return False
    if any(set(answer) != {"same"} for answer in glance.logs.get(ref, ())):
        return False
    counts = one.counts
    return counts is not None and are_of(counts, one.readers.said, one.job)


def _falls_due(one: Watched, glance: Glance, mono: float, watched: float) -> bool:
    """Whether its verdict or its tempo is to be judged now."""
    if one.job.ref in glance.usage_asked or one.slow is not None or not stays(one.memory, one.verdict, watched):
        return True
    return one.progress is not None and tempo.due(one.memory, one.slow_at, mono)


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
