"""Directories that the job will write to, files that it will read, and what is there of earlier runs."""

import errno
import glob
import os
import stat

from dogwatch.remote.integrity.body import BROKEN, INTACT, UNCLEAR, Budget
from dogwatch.remote.integrity.tree import check_path, raw, shown

MOST_LISTED = 10000
MOST_INPUTS = 5000
INPUT_BYTES = 1 << 36
TAIL = 64 << 10
MOST_LOGS = 4
KINDS = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a disk"))


def inspect_directory(path: str) -> object:
    """Whether a directory is there or could be made, whether it takes a file, what is in it, and its room."""
    kind, why, entries = "missing", None, []
    try:
        kind = "directory" if stat.S_ISDIR(os.stat(raw(path)).st_mode) else "file"
        if kind == "directory":
            entries = sorted(shown(name) for name in os.listdir(raw(path))[: MOST_LISTED + 1])
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            why = error.strerror
        if os.path.islink(raw(path)) and kind == "missing":
            why = "it is a link to something that is not there"
    nearest = path
    while not os.path.isdir(raw(nearest)) and nearest != "/":
        nearest = os.path.dirname(nearest) or "/"
    return {
        "path": path,
        "is": kind,
        "entries": entries[:200],
        "more": len(entries),
        "why": why,
        "nearest": nearest,
        "refused": refusal(nearest),
        "room": room(nearest),
    }


def refusal(directory: str) -> "str | None":
    """Why a directory takes no file, by making one and taking it away again; None when it does."""
    name = raw(os.path.join(directory, ".dogwatch-preflight-%d" % os.getpid()))
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return error.strerror
    try:
        os.write(fd, b"dogwatch preflight\n" * 256)  # a full disk lets files be made, and takes nothing
        os.fsync(fd)
        return None
    except OSError as error:
        return error.strerror
    finally:
        os.close(fd)
        os.unlink(name)


def room(directory: str) -> object:
    row = os.statvfs(raw(directory))
    taken = row.f_blocks - row.f_bfree
    return {
        "device": os.stat(raw(directory)).st_dev,
        "free": row.f_bavail * row.f_frsize,
        "total": (taken + row.f_bavail) * row.f_frsize,
        "inodes_free": row.f_favail,
        "inodes": row.f_files - row.f_ffree + row.f_favail,
    }


class Inputs:
    """What is there of the files that a pattern means; `broken`, `unreadable` and `odd` say why."""

    def __init__(self, pattern: str, split: bool, many: bool) -> None:
        self.pattern, self.split, self.many = pattern, split, many
        self.files = self.bytes = self.intact = self.unclear = 0
        self.unreadable: "list[tuple[str, str | None]]" = []
        self.broken: "list[tuple[str, str]]" = []
        self.odd: "list[tuple[str, str]]" = []

    def take(self, path: str, budget: Budget) -> None:
        try:
            about = os.stat(raw(path))
        except OSError as error:
            self.unreadable.append((path, error.strerror))
            return
        if not stat.S_ISREG(about.st_mode):
            self.odd += [(path, word) for test, word in KINDS if test(about.st_mode)]
            return
        self.files += 1
        self.bytes += about.st_size
        if not os.access(raw(path), os.R_OK):
            self.unreadable.append((path, "Permission denied"))
            return
        for row in check_path(path, budget):
            self.intact += row["verdict"] == INTACT
            self.unclear += row["verdict"] == UNCLEAR
            self.broken += [(row["file"], row["why"])] if row["verdict"] == BROKEN else []


def inspect_inputs(pattern: str, seconds: float) -> object:
    """The files that a path or pattern means, whether each can be read, and whether its format holds."""
    real, split = shown(os.path.realpath(raw(pattern))), True
    if os.path.isdir(raw(real)):
        paths = under(real)
    elif os.path.lexists(raw(pattern)) or not glob.has_magic(pattern):
        split, paths = False, [pattern] if os.path.lexists(raw(pattern)) else []
    else:
        paths = sorted(shown(path) for path in glob.iglob(raw(pattern), recursive=True))
    inputs, budget = Inputs(pattern, split, len(paths) > MOST_INPUTS), Budget(seconds, INPUT_BYTES)
    for path in paths[:MOST_INPUTS]:
        inputs.take(shown(os.path.realpath(raw(path))), budget)
    return vars(inputs)


def under(top: str) -> "list[str]":
    """The files below a directory that are not hidden."""
    found: "list[str]" = []
    for folder, folders, files in os.walk(raw(top)):
        folders[:] = sorted(name for name in folders if not name.startswith(b"."))
        found += [shown(os.path.join(folder, name)) for name in sorted(files) if not name.startswith(b".")]
        if len(found) > MOST_INPUTS:
            break
    return found


def inspect_checkpoints(pattern: str, seconds: float) -> object:
    """How many checkpoints there are to go on from, and whether the newest is whole."""
    stats = stats_of(pattern)
    newest = shown(max(stats)[1]) if stats else None
    real = [shown(os.path.realpath(raw(newest)))] if newest is not None else []
    rows = [row for path in real for row in check_path(path, Budget(seconds, INPUT_BYTES))]
    broken = [(row["file"], row["why"]) for row in rows if row["verdict"] == BROKEN]
    judged = sum(row["verdict"] == INTACT for row in rows)
    return {"pattern": pattern, "count": len(stats), "newest": newest, "broken": broken, "judged": judged}


def inspect_logs(pattern: str) -> object:
    """The ends of logs that earlier runs left, to try patterns on."""
    logs = [row for row in stats_of(pattern) if stat.S_ISREG(row[2].st_mode) and row[2].st_size]
    tails = {}
    for _, path, about in sorted(logs)[-MOST_LOGS:]:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            tails[shown(path)] = os.pread(fd, TAIL, max(0, about.st_size - TAIL)).decode("latin-1")
        finally:
            os.close(fd)
    return {"count": len(logs), "tails": tails}


def stats_of(pattern: str) -> "list[tuple[float, bytes, os.stat_result]]":
    """(time of change, path, all else) of what a glob matches."""
    rows = []
    for path in glob.iglob(raw(pattern)):
        try:
            about = os.stat(path)
        except OSError:
            continue
        rows.append((about.st_mtime, path, about))
    return rows
