"""What the kernel says of a process and all it started: CPU seconds and memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes: `shared_out` counts a page shared by n processes as 1/n (PSS), `resident` as whole (RSS),
    `own` counts only pages that nobody else has."""

    shared_out: float
    resident: float
    own: float


def family(pid: int) -> list[int]:
    """The process and every living descendant; a child is listed under the thread that forked it."""
    children = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            children += [int(word) for word in file.read().split()]
    return [pid, *(each for child in children for each in family(child))]


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU of these processes and of every child they have reaped; a child that is reaped between two
    readings moves from one sum to the other and is counted once."""
    return sum(_own_cpu(pid) + _reaped_cpu(pid) for pid in pids)


def memory(pids: Iterable[int]) -> Memory:
    sums = dict.fromkeys(("Pss", "Rss", "Private_Clean", "Private_Dirty"), 0)
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
            for line in lines:
                name, _, rest = line.partition(":")
                if name in sums:
                    sums[name] += int(rest.split()[0]) * 1024
    own = sums["Private_Clean"] + sums["Private_Dirty"]
    return Memory(sums["Pss"] / MEGABYTE, sums["Rss"] / MEGABYTE, own / MEGABYTE)


def _own_cpu(pid: int) -> float:
    """In nanoseconds where the kernel keeps schedstat; its clock ticks are too coarse for a gentle watcher."""
    try:
        total = 0
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e9
    except FileNotFoundError:
        fields = _stat(pid)
        return (int(fields[11]) + int(fields[12])) / TICKS


def _reaped_cpu(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[13]) + int(fields[14])) / TICKS


def _stat(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()
