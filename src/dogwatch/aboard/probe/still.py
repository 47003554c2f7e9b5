"""Logs that are asked about again: the same question is only named, and files that stand still are not opened."""

import os
import time
import zlib

from dogwatch.aboard.probe.logs import read_logs
from dogwatch.aboard.probe.paths import OPEN, Allowance, Finds
from dogwatch.aboard.probe.wire import mapping, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STILL = 3.0  # seconds; coarser than any file system keeps the time of a change
REVIEW = 32  # looks after which the files are opened nevertheless: only that asks the server of a network file system
MOST_QUESTIONS = 4096


class Question:
    """What was asked about the logs of a job and, if nothing was new, what its files and folders were like."""

    __slots__ = ("files", "folders", "mark", "settled", "spec", "turn")

    def __init__(self, job: str, mark: int, spec: "dict[str, Any]") -> None:
        self.mark, self.spec, self.settled = mark, spec, False
        self.files: "dict[bytes, tuple[int, ...] | None]" = {}
        self.folders: "dict[bytes, tuple[int, ...] | None]" = {}
        self.turn = zlib.crc32(job.encode("utf-8", "surrogateescape")) % REVIEW

    def answer(self, allowance: Allowance, again: bool) -> "dict[str, Any]":
        """What the logs are like and all that is new in them; or, asked again, that nothing is."""
        self.turn += 1
        if self.settled and self._stands_still(opening=self.turn % REVIEW == 0):
            return {"same": True}
        answer, finds = read_logs(self.spec, allowance)
        nothing = says_nothing(answer, mapping(self.spec.get("known"), "known"))
        self.settled = nothing and is_settled(finds, time.time())
        if self.settled:
            self.files = {path: stamp(row) for path, row in finds.stats.items()}
            self.files.update((path, None) for path in finds.absent)
            self.folders = {path: stamp(row) for path, row in finds.folders.items()}
        return {"same": True} if nothing and again else answer

    def _stands_still(self, opening: bool) -> bool:
        looks = (open_file, open_folder) if opening else (os.lstat, os.stat)
        for look, stamps in zip(looks, (self.files, self.folders)):
            for path, known in stamps.items():
                try:
                    row = look(path)
                    if known != (row.st_ino, row.st_size, row.st_mtime_ns, row.st_ctime_ns, row.st_dev):
                        return False
                except OSError:
                    if known is not None:
                        return False
        return True


def open_file(path: bytes) -> "os.stat_result":
    """What a path that was a regular file is like now, by its server."""
    return opened(path, OPEN)


def open_folder(path: bytes) -> "os.stat_result":
    return opened(path, OPEN & ~os.O_NOFOLLOW)


def opened(path: bytes, flags: int) -> "os.stat_result":
    fd = os.open(path, flags)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def stamp(row: "os.stat_result | None") -> "tuple[int, ...] | None":
    return row and (row.st_ino, row.st_size, row.st_mtime_ns, row.st_ctime_ns, row.st_dev)


def is_settled(finds: Finds, now: float) -> bool:
    """Whether the next change will show: a second one within the same instant would not."""
    rows = [row for row in list(finds.stats.values()) + list(finds.folders.values()) if row is not None]
    return not finds.capped and all(now - row.st_mtime > STILL and now - row.st_ctime > STILL for row in rows)


def says_nothing(answer: "dict[str, Any]", known: "dict[str, Any]") -> bool:
    """Whether every log is the file that the caller knows, read to its end."""
    if answer["gone"] or answer["unreadable"]:
        return False
    for path, entry in answer["files"].items():
        mine = known.get(path)
        if mine is None or entry["text"] or entry["skipped"] or entry["reset"] or "stale" in entry:
            return False
        if "rotated_from" in entry or not entry["size"] == entry["from"] == mine["offset"] or mine.get("stale_seen"):
            return False
        if any(entry[key] != mine[key] for key in ("dev", "ino", "head", "headlen")):
            return False
    return True


QUESTIONS: "dict[str, Question]" = {}


def look_at_logs(spec: "dict[str, Any]", allowance: Allowance) -> "dict[str, Any]":
    """The logs of one job. A question with a mark is remembered; its mark alone asks it again, and the answer is
    `again` when it has to be put in full."""
    if spec.get("mark") is None:
        return read_logs(spec, allowance)[0]
    job, mark = str(spec.get("job")), number(spec["mark"], "mark", 0, 1 << 53)
    question = QUESTIONS.pop(job, None)
    if "globs" in spec:
        question = Question(job, mark, spec)
    elif question is None or question.mark != mark:
        return {"again": True}
    while len(QUESTIONS) >= MOST_QUESTIONS:
        QUESTIONS.pop(next(iter(QUESTIONS)))
    QUESTIONS[job] = question
    return question.answer(allowance, "globs" not in spec)
