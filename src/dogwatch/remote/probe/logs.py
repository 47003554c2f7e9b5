"""Logs, read from the byte where the last poll stopped; rotation, truncation and replacement told apart."""

import os
import stat
import sys
import zlib
from typing import Any

from dogwatch.remote.probe.allowed_paths import RealFolders
from dogwatch.remote.probe.paths import Allowance, Finds, entries_of, expand, newest, regular
from dogwatch.remote.probe.wire import Fields, Refused, dec, enc
from dogwatch.remote.shapes import LogFile, Logs

HEAD = 1024
OPENING = 16384  # bytes at the start of a long log, where a run says how long it will be
MAX = 262144
SIBLINGS = 1000


class KnownLog:
    """What the caller remembers of a log file: its identity and how far it was read."""

    __slots__ = ("dev", "head", "headlen", "ino", "offset", "stale_seen")

    def __init__(self, row: "Any") -> None:
        self.dev, self.ino, self.head = row["dev"], row["ino"], row["head"]
        self.headlen, self.offset = row["headlen"], row["offset"]
        for value in (self.dev, self.ino, self.head, self.headlen, self.offset):
            if type(value) is not int or not 0 <= value < 1 << 64:
                raise Refused("dev, ino, head, headlen and offset of a known log must be whole numbers")
        self.stale_seen = row.get("stale_seen") is True

    def has_all_of(self, entry: "LogFile") -> bool:
        """Whether there is nothing to say of a file that was read just now: it is what it was, to the byte."""
        if self.stale_seen or "stale" in entry or entry["reset"] or entry["size"] != self.offset:
            return False
        now = (entry["dev"], entry["ino"], entry["head"], entry["headlen"], entry["from"])
        return now == (self.dev, self.ino, self.head, self.headlen, self.offset)

    def resume(self, size: int, head: bytes) -> "tuple[int, str | None, bool]":
        """(where to go on, reset, stale) in a file with the same inode."""
        whole = len(head) >= self.headlen
        same = whole and zlib.crc32(head[: self.headlen]) == self.head
        if size >= max(self.offset, self.headlen):
            return (self.offset, None, False) if same else (0, "replaced", False)
        if (whole and not same) or self.stale_seen:
            return 0, "truncated", False
        return self.offset, None, True  # an attribute cache may show an old size: not yet a truncation


def find_moved(known: "dict[bytes, KnownLog]", finds: Finds) -> "dict[bytes, bytes]":
    """New path to old path of known inodes that left their place for a matched name, or one beside it."""
    held = {log.ino for path, log in known.items() if path in finds.stats and finds.stats[path].st_ino == log.ino}
    lost: "dict[int, bytes]" = {}
    for path, log in sorted(known.items(), key=lambda row: row[1].offset):
        if log.ino not in held:
            lost[log.ino] = path
    if not lost:
        return {}
    now = {row.st_ino: path for path, row in finds.stats.items()}
    for directory in {os.path.dirname(lost[ino]) for ino in lost if ino not in now}:
        for ino, path in siblings(directory, finds.real):
            if ino in lost and ino not in now:
                now[ino] = path
    return {now[ino]: lost[ino] for ino in lost if ino in now}


def siblings(directory: bytes, real: RealFolders) -> "list[tuple[int, bytes]]":
    found: "list[tuple[int, bytes]]" = []
    try:
        for entry in entries_of(directory, real):
            found.append((entry.inode(), directory.rstrip(b"/") + b"/" + entry.name))
            if len(found) >= SIBLINGS:
                break
    except OSError:
        pass  # the directory's own trouble was told when its path was looked for
    return found


def read_log(
    path: bytes,
    log: "KnownLog | None",
    most: int,
    first: bool,
    allowance: Allowance,
    finds: Finds,
    last: bool = False,
) -> "LogFile":
    """One log from where it was left. `first` sight of a long file gives its opening and its end; a backlog that could
    never be caught up with, and one that nobody will read on (`last`), its end. All say how much was skipped."""
    fd = finds.open(path)
    try:
        row = os.fstat(fd)
        if not stat.S_ISREG(row.st_mode) or (log is not None and log.ino != row.st_ino):
            raise Refused("was replaced while it was being opened")
        head = os.pread(fd, HEAD, 0)
        size = row.st_size
        at, reset, stale = log.resume(size, head) if log is not None else (0, None, False)
        skipped = max(0, size - most - at) if size - at > (most if first or last else 64 * most) else 0
        at += skipped
        wish = 0 if stale else min(most, size - at, allowance.bytes)
        text = os.pread(fd, wish, at) if wish > 0 else b""
        allowance.bytes -= len(text)
        opening = os.pread(fd, max(0, min(OPENING, at, allowance.bytes)), 0) if first and skipped else b""
        opening = opening[: opening.rfind(b"\n") + 1]
        made = born(fd) if first and log is None else None
    finally:
        os.close(fd)
    allowance.bytes -= len(opening)
    entry: "LogFile" = {
        "dev": row.st_dev,
        "ino": row.st_ino,
        "head": zlib.crc32(head),
        "headlen": len(head),
        "size": size,
        "mtime": row.st_mtime,
        "from": at,
        "text": text.decode("latin-1"),
        "reset": reset,
        "skipped": skipped - len(opening),
    }
    if made is not None:
        entry["born"] = made
    if opening:
        entry["opening"] = opening.decode("latin-1")
    if stale and log is not None:
        entry["stale"], entry["head"], entry["headlen"] = True, log.head, log.headlen
    return entry


def born(fd: int) -> "float | None":
    """When a file was made, where its file system keeps that. The kernel tells it (statx), Python does not ask."""
    try:
        import ctypes

        statx = ctypes.CDLL(None).statx
    except (ImportError, OSError, AttributeError):
        return None
    row = ctypes.create_string_buffer(256)
    empty_path, btime = 0x1000, 0x800
    if statx(fd, b"", empty_path, btime, row) or not int.from_bytes(row.raw[:4], sys.byteorder) & btime:
        return None
    return float(int.from_bytes(row.raw[80:88], sys.byteorder)) + int.from_bytes(row.raw[88:92], sys.byteorder) / 1e9


def read_moved(
    path: bytes, old: bytes, log: KnownLog, most: int, allowance: Allowance, finds: Finds
) -> "LogFile | None":
    """The rest of a log under its new name; None if it is another file that merely got the old inode."""
    if not log.headlen and not path.startswith(old):
        return None
    try:
        regular(os.lstat(path))
        entry = read_log(path, log, 8 * most, False, allowance, finds)
    except (OSError, Refused):
        return None
    if entry["reset"] or "stale" in entry or entry["dev"] != log.dev:
        return None
    return {**entry, "rotated_from": dec(old)}


def read_logs(spec: Fields, allowance: Allowance, real: RealFolders) -> "tuple[Logs, Finds]":
    """Every log of one job, and where it was looked for; a known inode under a new name goes on where it was left,
    and comes first. Of those that are what they were only the path is told, as `unchanged`."""
    most, cap, last = spec.number("max", 1, 16 << 20, MAX), spec.number("files", 1, 4096, 64), spec.flag("last")
    known = {enc(path): KnownLog(row) for path, row in spec.mapping("known").items()}
    real.moved.clear()
    finds = expand(spec.texts("globs"), allowance, real)
    gone = [dec(path) for path in known if path not in finds.stats and not finds.lstat(path)]
    files: "dict[str, LogFile]" = {}
    unchanged: "list[str]" = []
    for path, old in sorted(find_moved(known, finds).items()):
        entry = read_moved(path, old, known[old], most, allowance, finds)
        if entry:
            files[dec(path)] = entry
    arrived = {entry["ino"] for entry in files.values()}
    for path in sorted(newest(finds.stats, cap)):
        if dec(path) in files:
            continue
        mine = known.get(path)
        same = mine is not None and mine.ino == finds.stats[path].st_ino
        try:
            regular(finds.stats[path])
            entry = read_log(path, mine if same else None, most, mine is None, allowance, finds, last)
            if mine is not None and same and mine.has_all_of(entry):
                unchanged.append(dec(path))
                continue
            if mine is not None and not same:
                entry["reset"] = "rotated" if mine.ino in arrived else "replaced"
            files[dec(path)] = entry
        except OSError as error:
            finds.trouble(path, error)
        except Refused as problem:
            finds.unreadable[dec(path)] = str(problem)
    answer: "Logs" = {
        "files": files,
        "unchanged": unchanged,
        "missing": finds.missing,
        "unreadable": finds.unreadable,
        "gone": [path for path in gone if path not in finds.unreadable],
        "capped": finds.capped or len(finds.stats) > cap,
    }
    real.add_to(answer)
    return answer, finds
