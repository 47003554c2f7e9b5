"""What a job's processes have used so far: CPU seconds and bytes, of all that descend from its workers.

Asked only of jobs that have been silent for a while. It is read by the file hand, because /proc/PID/io waits
for a lock that a process stuck in the kernel may hold.
"""

import time
from typing import Any

from dogwatch.remote.probe.paths import Allowance
from dogwatch.remote.probe.processes import BOOTTIME, TICKS, process_stats
from dogwatch.remote.probe.wire import Refused, number, slurp
from dogwatch.remote.shapes import Usage

MOST_ROOTS = 4096


class Table:
    """The processes of one poll, and who belongs to whom: put in order once, however many jobs are asked about."""

    __slots__ = ("children", "followers", "rows")

    def __init__(self, rows: "dict[int, tuple[bytes, int, int, int, int, int]]") -> None:
        self.rows = rows
        self.children: "dict[int, list[int]]" = {}
        self.followers: "dict[int, list[int]]" = {}  # by the leader of their group or session
        for pid, row in rows.items():
            self.children.setdefault(row[1], []).append(pid)
            for leader in set(row[2:4]):
                self.followers.setdefault(leader, []).append(pid)


def process_table(allowance: Allowance) -> Table:
    """(state, parent, group, session, CPU ticks with reaped children, start) by pid; read once for all jobs of a
    look, and empty when there are more than one poll may read."""
    table: "Table | None" = allowance.processes
    if table is None:
        table = allowance.processes = Table(read_table(allowance))
    return table


def read_table(allowance: Allowance) -> "dict[int, tuple[bytes, int, int, int, int, int]]":
    rows: "dict[int, tuple[bytes, int, int, int, int, int]]" = {}
    for pid, fields in process_stats():
        if allowance.spent():
            return {}
        ticks = int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
        rows[pid] = (fields[0], int(fields[1]), int(fields[2]), int(fields[3]), ticks, int(fields[19]))
    return rows


def family(roots: "list[int]", table: Table) -> "set[int]":
    """The roots that are there, all that descend from them, and who was left in a session or group they lead."""
    found: "set[int]" = set()
    todo = [root for root in roots if root in table.rows]
    for root in list(todo):
        if root in table.rows[root][2:4]:
            todo += table.followers[root]
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += table.children.get(pid, ())
    return found


def bytes_moved(pid: int) -> "tuple[int, int] | None":
    """(read, written) by one process and the children it has reaped; None where we may not see it."""
    try:
        text = slurp("/proc/%d/io" % pid, 1024)
    except OSError:
        return None
    counts = [int(line.rpartition(b" ")[2]) for line in text.splitlines()]
    if len(counts) < 6:
        return None
    # By system calls, pipes and the page cache included; or from the disk alone, where files are mapped.
    return max(counts[0], counts[4]), max(counts[1], counts[5])


def usage_section(pids: "Any", allowance: Allowance) -> "Usage":
    """The sum over the family of some pids; counters of those that left without being reaped are lost with them."""
    if not isinstance(pids, list) or len(pids) > MOST_ROOTS:
        raise Refused("usage must be a list of pids")
    roots = [number(pid, "a pid", 1, (1 << 31) - 1) for pid in pids]
    table = process_table(allowance)
    rows = table.rows
    members = sorted(pid for pid in family(roots, table) if rows[pid][0] not in (b"Z", b"X"))
    moved = [bytes_moved(pid) for pid in members]
    seen = [pair for pair in moved if pair is not None]
    first = min([rows[root][5] for root in roots if root in rows] or [0])
    return {
        "processes": len(members),
        "cpu": sum(rows[pid][4] for pid in members) / TICKS,
        "read": sum(pair[0] for pair in seen),
        "write": sum(pair[1] for pair in seen),
        "unread": len(members) - len(seen),
        "blocked": sum(rows[pid][0] == b"D" for pid in members),
        "stopped": sum(rows[pid][0] in (b"T", b"t") for pid in members),
        "age": round(time.clock_gettime(BOOTTIME) - first / TICKS, 3) if members else None,
    }
