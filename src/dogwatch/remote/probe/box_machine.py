"""The machine that a run has to itself: which one it is, what it may use of which whole, and who wants a CPU."""

import os
import re
import time

from dogwatch.remote.probe.processes import Processes, stat_fields
from dogwatch.remote.probe.usage import Table, family
from dogwatch.remote.probe.wire import slurp
from dogwatch.remote.shapes import BoxMachine, Threads

THREADS_MOST = 8192


def box_machine(processes: Processes) -> "BoxMachine":
    """What the machine says of itself. The CPUs are those that this login may use."""
    return {
        "id": machine_id(),
        "wall": time.time(),
        "boot": processes.boot,
        "init_start": init_start(),
        "cpus": usable_cpus(),
        "quota": cpu_quota(),
        "load": load_average(),
    }


def machine_id() -> "str | None":
    """The id of the installation; some containers have none."""
    try:
        text = slurp("/etc/machine-id", 256).decode("ascii", "replace").strip()
    except OSError:
        return None
    return text if re.match(r"^[0-9a-f]{32}\Z", text) else None


def init_start() -> "int | None":
    """When the first process started, in ticks since the kernel booted: a container that was restarted has the boot id
    that it had, and another first process."""
    try:
        return int(stat_fields(slurp("/proc/1/stat", 2048))[1][19])
    except (OSError, ValueError, IndexError):
        return None


def usable_cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def load_average() -> "float | None":
    try:
        return float(slurp("/proc/loadavg", 128).split()[0])
    except (OSError, ValueError, IndexError):
        return None


def cpu_quota() -> "float | None":
    """The CPUs that the tightest quota of our cgroups leaves; None without one."""
    found = []
    try:
        lines = slurp("/proc/self/cgroup", 16384).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" or "cpu" in controllers.split(","):
            found += quotas_above(number == "0", path)
    return min(found) if found else None


def quotas_above(second: bool, path: str) -> "list[float]":
    """The quotas of a cgroup and of those above it. In a container its own is mounted as the top one."""
    found = []
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        folder = "/".join(["/sys/fs/cgroup" if second else "/sys/fs/cgroup/cpu"] + parts[:depth])
        try:
            if second:
                most, period = slurp(folder + "/cpu.max", 128).split()
            else:
                most, period = slurp(folder + "/cpu.cfs_quota_us", 64), slurp(folder + "/cpu.cfs_period_us", 64)
            if int(most) > 0:
                found.append(int(most) / int(period))
        except (OSError, ValueError, ZeroDivisionError):  # "max" is none
            continue
    return found


def count_threads(roots: "list[int]", table: Table) -> "Threads":
    """The threads of some processes and all that descend from them; those that run or wait for a CPU count apart."""
    members = family(roots, table)
    count = running = 0
    for pid in members:
        try:
            names = os.listdir("/proc/%d/task" % pid)
        except OSError:
            continue
        for name in names[: max(0, THREADS_MOST - count)]:
            try:
                running += stat_fields(slurp("/proc/%d/task/%s/stat" % (pid, name), 1024))[1][0] == b"R"
            except (OSError, ValueError, IndexError):
                continue
        count += len(names)
    return {"count": count, "running": running, "processes": len(members)}
