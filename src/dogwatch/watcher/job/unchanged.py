"""Unchanged jobs: the poll says the same as the one before, except for what the processes use. Such a job costs only
its silence clocks, the rules, and the time of its evidence; everything else stays as it was described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dogwatch.model import Ended, Facts, Job, Known, Observation, Running, Worker
from dogwatch.rules.interface import Disk
from dogwatch.watcher.job import launch, slowdown
from dogwatch.watcher.job.counting import are_of
from dogwatch.watcher.job.gpus import is_on_node
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer
from dogwatch.watcher.job.stall import stays, stood
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire.requests import LogCursor
from dogwatch.wire.sections import Logs

# Of a job that has been silent for so long only the numbers of its processes move: they are told this often, and
# less often the longer it is.
TELL_QUIET, TELL_SHARE, TELL_LEAST = 10.0, 0.1, 30.0
# Between events a memory may lag: a restarted watcher then reads those few seconds of log again.
SAVE_EVERY = 10.0
# Nothing to read again once all that its files said is saved: only silence clocks are lost then.
SAVE_QUIET = 120.0
# What a disk may gain or lose before every job on it is described anew.
DISK_SHARE = 0.01
SAME = Logs(same=True)  # what a probe says of logs that are as they were, and of nothing else


def is_steady(
    job: Job,
    before: Known,
    after: Known,
    observation: Observation,
    memory: Memory,
    told: Facts | None,
    probe_answer: ProbeAnswer,
) -> bool:
    """Whether this poll has nothing to say that is not described already."""
    if observation.facts is None or observation.facts is not told or observation.track is not None:
        return False
    if observation.workers or memory.progress.steps:
        return False
    if isinstance(after.state, Ended) or not after.settled:
        return False
    if after.state is not before.state and after.state != before.state:
        return False
    if (after.native, after.reason, after.attempt) != (before.native, before.reason, before.attempt):
        return False
    ref = job.ref
    if ref in probe_answer.files or ref in probe_answer.late or probe_answer.teaches(ref):
        return False
    if not memory.launch.verified and (job.expect.workers is not None or isinstance(after.state, Running)):
        return False
    if probe_answer.gpus is not None and is_on_node(job, memory, probe_answer.host):
        return False
    return all(_says_nothing(answer, memory.log.cursors) for answer in probe_answer.logs.get(ref, ()))


def is_idle(
    one: WatchedJob, after: Known, observation: Observation, probe_answer: ProbeAnswer, mono: float, watched: float
) -> bool:
    """Whether a job at rest goes on resting and nothing about it falls due in this poll, after so many seconds more of
    silence: what it takes to see that is less than what it takes to find all of it unchanged."""
    memory = one.memory
    return (
        is_told(one, mono)
        and observation.track is None
        and isinstance(after.state, Running)
        and _files_stand(one, probe_answer)
        and is_at_rest(one, after, observation.workers, probe_answer)
        and not must_save(one, mono)
        and not _falls_due(one, probe_answer, mono, watched)
        and not launch.is_open(memory)
    )


def is_told(one: WatchedJob, mono: float) -> bool:
    """Whether a job has been silent for a while, and was told of not long ago."""
    silences = one.memory.silence.clocks.get("signs")
    if silences is None or silences.seconds < TELL_QUIET:
        return False
    return 0 <= mono - one.described < max(TELL_QUIET, min(TELL_LEAST, TELL_SHARE * silences.seconds))


def must_save(one: WatchedJob, mono: float) -> bool:
    """Whether the memory of a job that said nothing new is to be saved; sooner while it holds what is not saved yet."""
    return mono - one.saved >= (SAVE_QUIET if one.heard <= one.saved else SAVE_EVERY)


def _files_stand(one: WatchedJob, probe_answer: ProbeAnswer) -> bool:
    """Whether its logs say that they are what they were, its counters were counted from just that, and of no other
    file of it anything was asked."""
    ref = one.job.ref
    if ref in probe_answer.files or ref in probe_answer.late:
        return False
    if any(answer != SAME for answer in probe_answer.logs.get(ref, ())):
        return False
    counts = one.counts
    return counts is not None and are_of(counts, one.readers.said, one.job)


def _falls_due(one: WatchedJob, probe_answer: ProbeAnswer, mono: float, watched: float) -> bool:
    """Whether its verdict, its tempo or the warning of its owner is to be judged now."""
    if bool(stood(one.job, one.memory, watched)) != bool(stood(one.job, one.memory)):
        return True
    if one.job.ref in probe_answer.usage_asked or one.slow is not None or not stays(one.memory, one.verdict, watched):
        return True
    return one.progress is not None and slowdown.due(one.memory, one.slow_at, mono)


def is_at_rest(one: WatchedJob, after: Known, workers: Sequence[Worker], probe_answer: ProbeAnswer) -> bool:
    """Whether nothing about a silent job is new but what its processes use."""
    ref = one.job.ref
    if probe_answer.teaches(ref) or probe_answer.gpus is not None or not after.settled:
        return False
    return _story(one.known) == _story(after) and [*map(_part, one.workers)] == [*map(_part, workers)]


def _story(known: Known) -> tuple[object, ...]:
    return known.state, known.native, known.reason, known.attempt


def _part(worker: Worker) -> tuple[object, ...]:
    """What a worker is and does, without what it uses."""
    return worker.index, worker.doing, worker.pid, worker.children, worker.outcome


def _says_nothing(answer: Logs, known: Mapping[str, LogCursor]) -> bool:
    """Whether the logs are the files that they were, to the byte."""
    if answer.gone or answer.unreadable:
        return False
    for path, file in answer.files.items():
        cursor = known.get(path)
        if cursor is None or cursor.stale_seen or file.text or file.stale or file.skipped or file.rotated_from:
            return False
        if (file.dev, file.ino, file.head, file.headlen, file.from_) != (
            cursor.dev,
            cursor.ino,
            cursor.head,
            cursor.headlen,
            cursor.offset,
        ):
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
