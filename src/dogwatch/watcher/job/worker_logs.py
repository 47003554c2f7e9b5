"""Worker logs: which logs are written by the same worker. They show one progress in several places, which is never
added up: worker_0.log and worker_0_stderr.log, rank0.out and rank0.err, worker_3/stdout.log and worker_3/stderr.log."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache

from dogwatch.estimate.series import NOT_ITEMS
from dogwatch.model import Job, Step

# Parts of a file's name that say which stream of a process it holds, and nothing of the worker.
_OF_A_STREAM = frozenset(
    (
        *("log", "logs", "txt", "out", "err", "stdout", "stderr", "std", "error", "errors"),
        *("output", "console", "screen", "tee", "nohup"),
    )
)
_ROLE = re.compile(
    r"(?<![a-z])(worker|rank|local_rank|proc|process|task|gpu|device|shard|replica|node|host|w|r|p)[-_.:#]?0*(\d{1,5})(?!\d)"
)
_PARTS = re.compile(r"[-_.:+ ]+")
_OF_SO_MANY = re.compile(r"[-_.]of[-_.]\d+", re.IGNORECASE)
_DATE = re.compile(r"\d{6,}|\d{4}[-_.]\d{1,2}[-_.]\d{1,2}(?:[T_ -]?\d{1,2}[-_.:h]\d{1,2}(?:[-_.:m]\d{1,2})?)?")
_OWN = ("worker", "local_rank", "rank", "replica", "proc", "process", "task", "shard", "w", "r", "p", "gpu", "device")


def listed_logs(job: Job) -> dict[str, int]:
    """The logs that a run lists, each with the number of its worker."""
    return {path: index for kind in ("logs", "progress") for index, path in enumerate(job.track.get(kind) or ())}


@lru_cache(maxsize=4096)
def number_of(path: str) -> int | None:
    """The number of the worker that a log's path tells: behind a word such as worker or rank, else the last number of
    its name; of a name without one, that of its folder."""
    folder, base = os.path.split(path)
    name = _DATE.sub(" ", _OF_SO_MANY.sub("", base))
    if (told := _role_number(name)) is not None:
        return told
    numbers = re.findall(r"\d+", name)
    if numbers:
        return int(numbers[-1])
    parent = _DATE.sub(" ", os.path.basename(folder))
    told = _role_number(parent)
    return int(parent) if told is None and parent.isdigit() else told


def _role_number(name: str) -> int | None:
    found = {match[1]: int(match[2]) for match in _ROLE.finditer(name.lower())}
    return next((found[role] for role in _OWN if role in found), None)


@lru_cache(maxsize=4096)
def _key(path: str) -> Hashable:
    """What is left of a path without the words for a stream; the same for all logs of one worker."""
    folder, base = os.path.split(path)
    roles = tuple(sorted({(match[1], int(match[2])) for match in _ROLE.finditer(base.lower())}))
    if roles:
        return folder, roles
    parts = [part for part in _PARTS.split(base.lower()) if part and part not in _OF_A_STREAM]
    return folder, tuple(str(int(part)) if part.isdigit() else part for part in parts)


def keys(paths: Iterable[str], listed: Mapping[str, int], workers: int | None) -> dict[str, Hashable]:
    """The stream of each log. Logs that a run lists are those of their workers; where the numbers in the names are as
    many as the workers, each is a worker's; of one worker, logs without a number are one stream."""
    known = list(paths)
    if len(known) < 2:
        return dict.fromkeys(known, "")
    numbers = {path: listed.get(path, number_of(path)) for path in known}
    each = bool(workers) and len(set(numbers.values()) - {None}) == workers
    found: dict[str, Hashable] = {}
    for path, number in numbers.items():
        if number is None:
            found[path] = "" if workers == 1 else _key(path)
        else:
            found[path] = ("number", number) if each or path in listed else _key(path)
    return _with_captures(found)


def _with_captures(found: dict[str, Hashable]) -> dict[str, Hashable]:
    """A log whose name only says that it was printed (nohup.out, console.log) is of the one stream beside it."""
    for path, key in found.items():
        if isinstance(key, tuple) and key[1] == () and key[0] == os.path.dirname(path):
            beside = {other for other in found.values() if other != key}
            found[path] = next(iter(beside)) if len(beside) == 1 else key
    return found


def merged(
    steps: Mapping[str, Step], listed: Mapping[str, int], workers: int | None, *, items: bool
) -> dict[str, Step]:
    """One counter for each stream, by the path of the log that tells it best: one that counts items where those are
    asked for, then one with a total, then the one that is furthest."""
    streams: dict[Hashable, str] = {}
    for path, key in keys(steps, listed, workers).items():
        best = streams.get(key)
        if best is None or _worth(steps[path], items) > _worth(steps[best], items):
            streams[key] = path
    return {path: steps[path] for path in streams.values()}


def _worth(step: Step, items: bool) -> tuple[bool, bool, int, float]:
    return items and counts_items(step), bool(step.total), step.rank, step.done


def counts_items(step: Step) -> bool:
    return step.unit not in NOT_ITEMS
