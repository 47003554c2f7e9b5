"""Directories that the job will write to, files that it will read, and what is there of earlier runs."""

import errno
import glob
import os
import stat
from typing import Any

from dogwatch.remote.integrity.body import BROKEN, INTACT, Budget
from dogwatch.remote.integrity.tree import check_path

MOST_LISTED = 10000
MOST_INPUTS = 5000
INPUT_BYTES = 1 << 36
TAIL = 64 << 10
MOST_LOGS = 4
KINDS = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a disk"))


def as_bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def as_text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def inspect_directory(path: str) -> "dict[str, Any]":
    """Whether a directory is there or could be made, whether it takes a file, what is in it, and its room."""
    row: "dict[str, Any]" = {"path": path, "is": "missing", "entries": [], "more": False, "why": None}
    try:
        mode = os.stat(as_bytes(path)).st_mode
        row["is"] = "directory" if stat.S_ISDIR(mode) else "file"
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            row["why"] = error.strerror
        if os.path.islink(as_bytes(path)):
            row["why"] = "it is a link to something that is not there"
    nearest = path
    while not os.path.isdir(as_bytes(nearest)) and nearest != "/":
        nearest = os.path.dirname(nearest) or "/"
    row["nearest"] = nearest
    row["refused"] = refusal(nearest)
    if row["is"] == "directory":
        try:
            entries = sorted(as_text(name) for name in os.listdir(as_bytes(path))[: MOST_LISTED + 1])
            row["entries"], row["more"] = entries[:200], len(entries)
        except OSError as error:
            row["why"] = error.strerror
    row["room"] = room(nearest)
    return row


def refusal(directory: str) -> "str | None":
    """Why a directory takes no file, by making one and taking it away again; None when it does."""
    name = as_bytes(os.path.join(directory, ".dogwatch-preflight-%d" % os.getpid()))
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


def room(directory: str) -> "dict[str, Any]":
    row = os.statvfs(as_bytes(directory))
    taken = row.f_blocks - row.f_bfree
    return {
        "device": os.stat(as_bytes(directory)).st_dev,
        "free": row.f_bavail * row.f_frsize,
        "total": (taken + row.f_bavail) * row.f_frsize,
        "inodes_free": row.f_favail,
        "inodes": row.f_files - row.f_ffree + row.f_favail,
    }


def inspect_inputs(pattern: str, seconds: float) -> "dict[str, Any]":
    """The files that a path or pattern means, whether each can be read, and whether its format holds."""
    real = as_text(os.path.realpath(as_bytes(pattern)))
    row: "dict[str, Any]" = {"pattern": pattern, "files": 0, "bytes": 0, "intact": 0, "unclear": 0, "split": False}
    row.update(unreadable=[], broken=[], odd=[], many=False)
    if os.path.isdir(as_bytes(real)):
        row["split"], paths = True, under(real)
    elif os.path.lexists(as_bytes(pattern)) or not glob.has_magic(pattern):
        paths = [pattern] if os.path.lexists(as_bytes(pattern)) else []
    else:
        row["split"], paths = True, sorted(as_text(path) for path in glob.iglob(as_bytes(pattern), recursive=True))
    row["many"] = len(paths) > MOST_INPUTS
    budget = Budget(seconds, INPUT_BYTES)
    for path in paths[:MOST_INPUTS]:
        take_input(as_text(os.path.realpath(as_bytes(path))), row, budget)
    return row


def under(top: str) -> "list[str]":
    """The files below a directory that are not hidden."""
    found: "list[str]" = []
    for folder, folders, files in os.walk(as_bytes(top)):
        folders[:] = sorted(name for name in folders if not name.startswith(b"."))
        found += [as_text(os.path.join(folder, name)) for name in sorted(files) if not name.startswith(b".")]
        if len(found) > MOST_INPUTS:
            break
    return found


def take_input(path: str, row: "dict[str, Any]", budget: Budget) -> None:
    try:
        about = os.stat(as_bytes(path))
    except OSError as error:
        row["unreadable"].append([path, error.strerror])
        return
    if not stat.S_ISREG(about.st_mode):
        kind = next((word for test, word in KINDS if test(about.st_mode)), None)
        if kind is not None:
            row["odd"].append([path, kind])
        return
    row["files"] += 1
    row["bytes"] += about.st_size
    if not os.access(as_bytes(path), os.R_OK):
        row["unreadable"].append([path, "Permission denied"])
        return
    for verdict_row in check_path(path, budget):
        if verdict_row["verdict"] == BROKEN:
            row["broken"].append([verdict_row["file"], verdict_row["why"]])
        else:
            row["intact" if verdict_row["verdict"] == INTACT else "unclear"] += 1


def inspect_checkpoints(pattern: str, seconds: float) -> "dict[str, Any]":
    """How many checkpoints there are to go on from, and whether the newest is whole."""
    stats = []
    for path in glob.iglob(as_bytes(pattern)):
        try:
            stats.append((os.stat(path).st_mtime, as_text(path)))
        except OSError:
            continue
    row: "dict[str, Any]" = {"pattern": pattern, "count": len(stats), "newest": None, "broken": [], "judged": 0}
    if stats:
        row["newest"] = newest = max(stats)[1]
        for found in check_path(as_text(os.path.realpath(as_bytes(newest))), Budget(seconds, INPUT_BYTES)):
            row["judged"] += found["verdict"] == INTACT
            if found["verdict"] == BROKEN:
                row["broken"].append([found["file"], found["why"]])
    return row


def inspect_logs(pattern: str) -> "dict[str, Any]":
    """The ends of logs that earlier runs left, to try patterns on."""
    stats = []
    for path in glob.iglob(as_bytes(pattern)):
        try:
            about = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(about.st_mode) and about.st_size:
            stats.append((about.st_mtime, path, about.st_size))
    row: "dict[str, Any]" = {"count": len(stats), "tails": {}}
    for _, path, size in sorted(stats)[-MOST_LOGS:]:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            row["tails"][as_text(path)] = os.pread(fd, TAIL, max(0, size - TAIL)).decode("latin-1")
        finally:
            os.close(fd)
    return row
