"""What trees of processes hold: by their proportional sizes, in which a page that several share counts once among
them, as long as those are quick to read; then by their resident sizes."""

import re
import time

from dogwatch.remote.probe.processes import PAGE, process_stats
from dogwatch.remote.probe.wire import slurp
from dogwatch.remote.shapes import Trees

MOST_TREES = 4096
PSS = re.compile(rb"^Pss:\s{1,40}(\d{1,18}) kB", re.M)


def all_processes() -> "dict[int, tuple[int, int, int]]":
    """(parent, session, resident bytes) by pid, of all that have not ended."""
    living = [(pid, fields) for pid, fields in process_stats() if fields[0] not in (b"Z", b"X")]
    return {pid: (int(fields[1]), int(fields[3]), int(fields[21]) * PAGE) for pid, fields in living}


def root_of(pid: int, roots: "set[int]", rows: "dict[int, tuple[int, int, int]]") -> "int | None":
    """The root that a process descends from, or whose session it was left in."""
    session, seen = rows[pid][1], 0
    while pid in rows and seen < 64:
        if pid in roots:
            return pid
        pid, seen = rows[pid][0], seen + 1
    return session if session in roots else None


def proportional(pid: int) -> "int | None":
    """Its own pages and its share of those it has with others; None where that is not ours to see."""
    try:
        found = PSS.search(slurp("/proc/%d/smaps_rollup" % pid))
    except OSError:
        return None
    return int(found.group(1)) << 10 if found else None


def in_use() -> int:
    """What of the machine's memory is in use, beyond which no job holds any."""
    sizes = dict(re.findall(rb"^(MemTotal|MemAvailable):\s{1,40}(\d{1,18}) kB", slurp("/proc/meminfo"), re.M))
    return (int(sizes[b"MemTotal"]) - int(sizes[b"MemAvailable"])) << 10


def weigh_trees(pids: "list[int]", seconds: float) -> "Trees":
    """Bytes by root, and how many processes were weighed; the biggest come last, since they take longest to read."""
    rows, roots = all_processes(), set(pids[:MOST_TREES])
    found = [(row[2], pid, root_of(pid, roots, rows)) for pid, row in rows.items()]
    members = sorted((size, pid, root) for size, pid, root in found if root is not None)
    until, most = time.monotonic() + seconds, in_use()
    held = {root: 0 for root in roots if root in rows}
    rough = 0
    for size, pid, root in members:
        share = proportional(pid) if time.monotonic() < until else None
        rough += share is None
        held[root] = held.get(root, 0) + (size if share is None else share)
    trees = {str(root): min(size, most) for root, size in held.items()}
    return {"bytes": trees, "processes": len(members), "rough": rough}
