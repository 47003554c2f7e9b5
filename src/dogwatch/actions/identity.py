"""Identity: which process this is, and whether a process that was written down is still the same one."""

from __future__ import annotations

import os
from typing import TypedDict

from dogwatch.clock import boot_id


class ProcessIdentity(TypedDict):
    """A process beyond the reuse of its number."""

    pid: int
    start: int | None
    boot: str


def mine() -> ProcessIdentity:
    """This process."""
    return {"pid": os.getpid(), "start": start_of(os.getpid()), "boot": boot_id()}


def is_alive(process: ProcessIdentity | None) -> bool:
    """Whether it still runs; one that was started before the last boot does not."""
    if process is None or process["boot"] != boot_id():
        return False
    start = start_of(process["pid"])
    return start is not None and start == process["start"]


def start_of(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
