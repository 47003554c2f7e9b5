"""Whose a process on a GPU is: its user, its name, the processes above it, the Slurm job whose cgroup it is in."""

import os
import re

from dogwatch.remote.shapes import Gpu, GpuHolder

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


def owner(pid: int, shared: bool) -> "tuple[int, GpuHolder] | None":
    """(user id, what else can be said) of a process on a GPU; None if it cannot be seen."""
    name, fields = stat_of(pid)
    if not fields or not is_that_one(pid, shared):
        return None
    try:
        uid = os.stat("/proc/%d" % pid).st_uid
    except OSError:
        return None
    above: "list[int]" = []
    parent, served = int(fields[1]), name.startswith("ray::")
    while parent > 1 and len(above) < MOST_ABOVE:
        above.append(parent)
        named, fields_above = stat_of(parent)
        parent, served = int(fields_above[1]) if fields_above else 0, served or named.startswith(SERVERS)
    row: "GpuHolder" = {"pid": pid, "memory": None, "seen": True, "name": name, "above": above, "served": served}
    row["led_by"] = sorted(set((int(fields[2]), int(fields[3]))))
    job = SLURM_JOB.search(read_file("/proc/%d/cgroup" % pid, 16384))
    if job:
        row["slurm"] = job.group(1).decode("ascii")
    return uid, row


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


def name_owners(cards: "list[Gpu]") -> None:
    """Add to the processes of each card what can be said of them."""
    try:
        shared = os.readlink("/proc/self/ns/pid") == FIRST_PID_NAMESPACE
    except OSError:
        shared = False
    for gpu in cards:
        gpu["processes"] = gpu["processes"] and gpu["processes"][:MOST_HOLDERS]
    holders = [process for gpu in cards for process in gpu["processes"] or ()]
    owners = {pid: owner(pid, shared) for pid in set(process["pid"] for process in holders)}
    names = user_names(set(row[0] for row in owners.values() if row))
    for process in holders:
        found = owners[process["pid"]]
        if found:
            uid, row = found
            process.update({**row, "memory": process["memory"], "user": names.get(uid, str(uid))})
