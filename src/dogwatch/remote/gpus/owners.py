"""Whose a process on a GPU is: its user, its name, the processes above it, the Slurm job whose cgroup it is in."""

import os
import re
from typing import Any

FIRST_PID_NAMESPACE = "pid:[4026531836]"
ON_A_GPU = re.compile(rb"/dev/(?:nvidia|kfd|dri)|libcuda\.so|libamdhip64|libhsa-runtime")
SLURM_JOB = re.compile(rb"/job_([0-9]{1,12})(?:/|\n|\Z)")
# They start processes for others, who cannot be told from the processes above.
SERVERS = ("containerd-shim", "conmon", "raylet", "slurmstepd")
MOST_ABOVE, MOST_HOLDERS = 32, 64
NAMES_WAIT = 0.5


def read_file(path: str, cap: int) -> bytes:
    try:
        with open(path, "rb") as text:
            return text.read(cap)
    except OSError:
        return b""


def stat_of(pid: int) -> "tuple[str, list[bytes]]":
    text = read_file("/proc/%d/stat" % pid, 2048)
    if b")" not in text:
        return "", []
    name = text[text.index(b"(") + 1 : text.rindex(b")")].decode("utf-8", "replace")
    return name, text[text.rindex(b")") + 2 :].split()


def is_that_one(pid: int, shared: bool) -> bool:
    """Whether the pid means the same to the driver as to us. In a container it may be somebody else's number, unless
    the process that has it here shows that it uses a GPU."""
    return shared or bool(ON_A_GPU.search(read_file("/proc/%d/maps" % pid, 4 << 20)))


def owner(pid: int, memory: "int | None", shared: bool) -> "dict[str, Any]":
    row: "dict[str, Any]" = {"pid": pid, "memory": memory, "seen": False}
    name, fields = stat_of(pid)
    if not fields or not is_that_one(pid, shared):
        return row
    try:
        row["uid"] = os.stat("/proc/%d" % pid).st_uid
    except OSError:
        return row
    above: "list[int]" = []
    parent, served = int(fields[1]), name.startswith("ray::")
    while parent > 1 and len(above) < MOST_ABOVE:
        above.append(parent)
        named, fields_above = stat_of(parent)
        parent, served = int(fields_above[1]) if fields_above else 0, served or named.startswith(SERVERS)
    row.update(seen=True, name=name, above=above, led_by=sorted(set((int(fields[2]), int(fields[3])))), served=served)
    job = SLURM_JOB.search(read_file("/proc/%d/cgroup" % pid, 16384))
    if job:
        row["slurm"] = job.group(1).decode("ascii")
    return row


def user_names(uids: "set[int]") -> "dict[int, str]":
    """Names of users; a directory service that does not answer costs them, and nothing else."""
    import threading

    found: "dict[int, str]" = {}

    def ask() -> None:
        import pwd

        for uid in sorted(uids):
            try:
                found[uid] = pwd.getpwuid(uid).pw_name
            except KeyError:
                continue

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(NAMES_WAIT)
    return dict(found)


def name_owners(cards: "list[dict[str, Any]]") -> None:
    """Put [pid, bytes] of each card's processes into what can be said of them."""
    try:
        shared = os.readlink("/proc/self/ns/pid") == FIRST_PID_NAMESPACE
    except OSError:
        shared = False
    known: "dict[int, dict[str, Any]]" = {}
    for one in cards:
        rows = None if one["processes"] is None else one["processes"][:MOST_HOLDERS]
        for pid, size in rows or ():
            if pid not in known:
                known[pid] = owner(pid, size, shared)
        one["processes"] = None if rows is None else [dict(known[pid], memory=size) for pid, size in rows]
    names = user_names(set(row["uid"] for row in known.values() if row["seen"]))
    for one in cards:
        for row in one["processes"] or ():
            if row["seen"]:
                uid = row.pop("uid")
                row["user"] = names.get(uid, str(uid))
