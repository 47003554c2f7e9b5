"""Who still writes: whether a process of this machine that we may see has a file open for writing."""

import os
import time

from dogwatch.remote.integrity.tree import raw

MOST_OPEN = 50000


def open_for_writing(paths: "list[str]", seconds: float = 0.5) -> "list[str]":
    """Of these files, those that somebody here has open for writing."""
    wanted = {}
    for path in paths:
        try:
            row = os.stat(raw(path))
        except OSError:
            continue
        wanted[row.st_dev, row.st_ino] = path
    found, left, until = set(), MOST_OPEN, time.monotonic() + seconds
    for pid in os.listdir("/proc") if wanted else ():
        if not pid.isdigit() or left < 0 or time.monotonic() > until:
            continue
        try:
            numbers = os.listdir("/proc/%s/fd" % pid)
        except OSError:
            continue
        left -= len(numbers)
        for number in numbers:
            try:
                row = os.stat("/proc/%s/fd/%s" % (pid, number))
                known = wanted.get((row.st_dev, row.st_ino))
                if known and is_writable(pid, number):
                    found.add(known)
            except (OSError, ValueError):
                continue
    return sorted(found)


def may_see_writers(path: str) -> bool:
    """Whether whoever has this file open would have been seen: its owner's processes are ours, too."""
    try:
        return os.geteuid() in (0, os.stat(raw(path)).st_uid)
    except OSError:
        return False


def is_writable(pid: str, number: str) -> bool:
    with open("/proc/%s/fdinfo/%s" % (pid, number)) as lines:
        flags = next((line for line in lines if line.startswith("flags:")), "flags: 0")
    return bool(int(flags.split()[1], 8) & (os.O_WRONLY | os.O_RDWR))
