"""Log files as pieces of bytes: opened so that nothing can block; what is no log is refused with one sentence."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator

from dogwatch.errors import CouldNotPoll
from dogwatch.logs.charset import as_utf8
from dogwatch.text import plain

PIECE = 1 << 20  # bytes that are read at once
STDIN = "-"
_KINDS = (
    (stat.S_ISDIR, "is a directory; name the log files in it"),
    (stat.S_ISFIFO, "is a FIFO, and reading it could block forever; pipe it in instead: … | dogwatch read -"),
    (stat.S_ISCHR, "is a device, not a log; name a file"),
    (stat.S_ISBLK, "is a device, not a log; name a file"),
    (stat.S_ISSOCK, "is a socket, not a log; name a file"),
)
_PACKED = (
    (b"\x1f\x8b", "gzip", "zcat"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4cat"),
)
_NO_LOGS = (
    (b"PK\x03\x04", "a zip archive (a checkpoint, perhaps)"),
    (b"\x80\x02", "a Python pickle (a checkpoint, perhaps)"),
    (b"\x80\x04", "a Python pickle (a checkpoint, perhaps)"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a picture"),
    (b":W&B", "a wandb run file; read its output.log instead"),
)


def pieces(path: str) -> Iterator[bytes]:
    """The log as UTF-8 bytes, piece by piece; CouldNotLook with the reason when there is nothing to read.
    What is appended while we read is not waited for."""
    name = "standard input" if path == STDIN else plain(path, 200)
    yield from as_utf8(_checked(name, path, _raw(path, name)))


def size(path: str) -> int:
    """How many bytes were written of a log, about; 0 where that is not known."""
    try:
        row = None if path == STDIN else os.stat(path)
    except (OSError, ValueError):  # which whoever reads it says
        return 0
    return 0 if row is None or not stat.S_ISREG(row.st_mode) else min(row.st_size, 512 * row.st_blocks)


def _raw(path: str, name: str) -> Iterator[bytes]:
    try:
        if path == STDIN:
            while piece := os.read(sys.stdin.fileno(), PIECE):
                yield piece
            return
        yield from _file(path, name)
    except OSError as error:
        raise CouldNotPoll(f"{name} could not be read: {error.strerror or error}") from None
    except ValueError:  # a NUL in the name
        raise CouldNotPoll(f"{name} is not a name that a file can have") from None


def _file(path: str, name: str) -> Iterator[bytes]:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        row = os.fstat(fd)
        for is_kind, why in _KINDS:
            if is_kind(row.st_mode):
                raise CouldNotPoll(f"{name} {why}")
        if 512 * row.st_blocks < row.st_size:
            yield from _without_holes(fd, row.st_size)
            return
        left = row.st_size or sys.maxsize  # files of /proc say 0 and have text
        while left > 0 and (piece := os.read(fd, min(PIECE, left))):
            left -= len(piece)
            yield piece
    finally:
        os.close(fd)


def _without_holes(fd: int, size: int) -> Iterator[bytes]:
    """What was written of a sparse file. A log that is cut while its writer goes on where it was has gigabytes of
    nothing before its text."""
    at = 0
    while at < size:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # some file systems do not know, and then all of it is text
                os.lseek(fd, at, os.SEEK_SET)
            else:
                return
        if at >= size or not (piece := os.read(fd, min(PIECE, size - at))):
            return
        at += len(piece)
        yield piece


def _checked(name: str, path: str, stream: Iterator[bytes]) -> Iterator[bytes]:
    """The stream, unless its first bytes show that it is something else than text."""
    head = next(stream, b"")
    if ".tfevents." in os.path.basename(path):
        raise CouldNotPoll(f"{name} is a TensorBoard event file, not a log")
    for magic, what, tool in _PACKED:
        if head.startswith(magic):
            how = f"{tool} | dogwatch read -" if path == STDIN else f"{tool} {name} | dogwatch read -"
            raise CouldNotPoll(f"{name} is compressed ({what}); read it with: {how}")
    for magic, what in _NO_LOGS:
        if head.startswith(magic):
            raise CouldNotPoll(f"{name} is {what}, not a log")
    yield head
    yield from stream
