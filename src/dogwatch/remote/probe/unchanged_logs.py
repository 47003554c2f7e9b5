"""Logs that are asked about again: the same question is only named, and files that stand still are not opened."""

import os
import time
import zlib
from collections.abc import Callable

from dogwatch.remote.probe.allowed_paths import OPEN
from dogwatch.remote.probe.inotify import INOTIFY, Listener
from dogwatch.remote.probe.logs import read_logs
from dogwatch.remote.probe.paths import Allowance, Finds, real_folders
from dogwatch.remote.probe.wire import Fields
from dogwatch.remote.shapes import Logs

SETTLED_AFTER = 3.0  # seconds; coarser than any file system keeps the time of a change
# Looks after which also files that nobody has heard of are looked at: what is written through a map of memory, or by
# splice on some kernels, makes no intact.
CHECK = 8
REVIEW = 32  # looks after which the files are opened nevertheless: only that asks the server of a network file system
MOST_QUESTIONS = 4096


class Question(Listener):
    """What was asked about the logs of a job and, if nothing was new, what its files and folders were like. Where every
    write to a file is heard, only the folders `around` the files are looked at: another file comes into its place by a
    change of those."""

    __slots__ = ("around", "files", "folders", "mark", "polls", "real", "settled", "spec", "trusts")

    def __init__(self, job: str, mark: int, spec: Fields, before: "Question | None") -> None:
        Listener.__init__(self)
        self.mark, self.spec, self.settled, self.real = mark, spec, False, real_folders(spec)
        self.trusts: bool = before is None or before.trusts
        self.files: "dict[bytes, tuple[int, ...] | None]" = {}
        self.folders: "dict[bytes, tuple[int, ...] | None]" = {}
        self.around: "dict[bytes, tuple[int, ...] | None]" = {}
        self.polls = zlib.crc32(job.encode("utf-8", "surrogateescape")) % REVIEW

    def answer(self, allowance: Allowance, again: bool) -> "Logs":
        """What the logs are like and all that is new in them; or, asked again, that nothing is."""
        self.polls += 1
        if self.settled and self._is_unchanged():
            return {"same": True}
        INOTIFY.leave(self)
        answer, finds = read_logs(self.spec, allowance, self.real)
        nothing = not (answer["files"] or answer["gone"] or answer["unreadable"])
        self.settled = nothing and is_settled(finds, time.time())
        if self.settled:
            self.files = {path: stamp(row) for path, row in finds.stats.items()}
            self.files.update((path, None) for path in finds.absent)
            self.folders = {path: stamp(row) for path, row in finds.folders.items()}
        return {"same": True} if nothing and again else answer

    def _is_unchanged(self) -> bool:
        unheard = self._hears_nothing()
        if unheard and self.polls % CHECK:
            return True
        opening = self.polls % REVIEW == 0
        if not unheard and self.trusts:
            self._listen()  # before the files are looked at: what comes later is heard
        if are_as(self.files, open_file if opening else os.lstat):
            return are_as(self.folders, open_folder if opening else os.stat)
        if unheard:
            INOTIFY.hear()
            self.trusts = not self._hears_nothing()  # an ear that has missed something is not asked again
        return False

    def _hears_nothing(self) -> bool:
        """Whether every file is listened to, and neither it nor a folder has changed since it was looked at."""
        return self.hears and are_as(self.folders, os.stat) and are_as(self.around, os.stat)

    def _listen(self) -> None:
        parents, now = {os.path.dirname(path) or b"/" for path in self.files}, time.time()
        try:
            rows = {folder: os.stat(folder) for folder in parents.difference(self.folders)}
            ripe = all(is_old(row, now) for row in rows.values())
        except OSError:
            ripe = False
        if not ripe:
            INOTIFY.leave(self)
            return
        self.around = {folder: stamp(row) for folder, row in rows.items()}
        if not self.hears:
            INOTIFY.listen(self, [path for path, known in self.files.items() if known is not None], parents)
            self.trusts = self.hears  # what cannot be heard once is not tried again: it may be a server that is asked


def are_as(stamps: "dict[bytes, tuple[int, ...] | None]", stat_of: "Callable[[bytes], os.stat_result]") -> bool:
    """Whether what is at these paths is what it was."""
    for path, known in stamps.items():
        try:
            row = stat_of(path)
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
    return not finds.capped and all(is_old(row, now) for row in rows)


def is_old(row: "os.stat_result", now: float) -> bool:
    return now - row.st_mtime > SETTLED_AFTER and now - row.st_ctime > SETTLED_AFTER


QUESTIONS: "dict[str, Question]" = {}


def logs_section(spec: Fields, allowance: Allowance) -> "Logs":
    """The logs of one job. A question with a mark is remembered; its mark alone asks it again, and the answer is
    `again` when it has to be put in full."""
    if "mark" not in spec:
        return read_logs(spec, allowance, real_folders(spec))[0]
    job, mark = spec.text("job"), spec.number("mark", 0, 1 << 53)
    question = QUESTIONS.pop(job, None)
    if "globs" in spec.words:
        before, question = question, Question(job, mark, spec, question)
        if before is not None:
            INOTIFY.leave(before)
    elif question is None or question.mark != mark:
        return {"again": True}
    while len(QUESTIONS) >= MOST_QUESTIONS:
        INOTIFY.leave(QUESTIONS.pop(next(iter(QUESTIONS))))
    QUESTIONS[job] = question
    return question.answer(allowance, "globs" not in spec.words)
