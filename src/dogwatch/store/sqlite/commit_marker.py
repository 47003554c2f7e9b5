"""The commit marker: how far the store has come, written outside of it.

A damaged or deleted write-ahead log makes SQLite open an older state as if nothing had happened. The
marker is rewritten after each commit without a sync, so it may lag behind the database after a power
loss but is never ahead of it, unless commits were lost.
"""

from __future__ import annotations

import os
import zlib

from dogwatch.store.private_files import open_private

NAME = "commit-marker"


def read(home: str) -> tuple[int, int]:
    """(commits, newest event) as last written; zeros when there is no marker, or none that can be believed."""
    try:
        with open(os.path.join(home, NAME), "rb") as file:
            words = file.read(64).split()
    except OSError:
        return 0, 0
    if len(words) != 3 or words[2] != _checksum(words[0] + b" " + words[1]):
        return 0, 0
    return int(words[0]), int(words[1])


def write(home: str, commits: int, seq: int) -> None:
    """Overwrite the marker in place, which needs no room on a full disk; one that cannot be written only
    weakens the evidence, so that is no error."""
    text = b"%016d %016d" % (commits, seq)
    try:
        fd = open_private(os.path.join(home, NAME), os.O_CREAT | os.O_WRONLY)
    except OSError:
        return
    try:
        os.pwrite(fd, text + b" " + _checksum(text) + b"\n", 0)
    except OSError:
        return
    finally:
        os.close(fd)


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
