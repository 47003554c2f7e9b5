"""Where processes are right now: their Python frames, or at least what the kernel says they wait for."""

import json
import os
import time
from typing import Any

from dogwatch.remote.probe.command import run_command, trusted_program
from dogwatch.remote.probe.commands import command_environment
from dogwatch.remote.probe.processes import TICKS, process_stats
from dogwatch.remote.probe.wire import slurp
from dogwatch.remote.shapes import Family, Frame, Spied, Stacks, StacksCall, Thread

MOST = 4  # processes looked at
MOST_FRAMES = 24
MOST_NAMED = 4
MEASURE = 0.5  # seconds over which processor time is measured
CAP = 4 << 20
PLACES = ("/usr/local/bin", "/usr/bin", "/opt/conda/bin")


def extra_probe(call: "StacksCall") -> "Stacks":
    """`pids` are a job's own processes: they and all that descend from them are its family, of which the busiest
    Python programs are looked at, within `seconds`; with `spy` false, the family is only counted."""
    began = time.monotonic()
    until = began + float(call["seconds"])
    rows = table()
    members = family(set(int(pid) for pid in call["pids"]), rows)
    chosen = chosen_of(members, rows) if call.get("spy", True) else []
    found = [spy_on(pid, rows[pid], until) for pid in chosen]
    time.sleep(max(0.0, MEASURE - (time.monotonic() - began)))
    counted = count(members, rows, table(), time.monotonic() - began)
    return {"processes": found, "ptrace": ptrace_scope(), "family": counted}


def count(
    members: "list[int]",
    before: "dict[int, tuple[str, int, int]]",
    after: "dict[int, tuple[str, int, int]]",
    seconds: float,
) -> "Family":
    """What a family does: who of it has ended and was not waited for, who is stopped or hangs in the kernel, and the
    processor time of all, in per cent of one core."""
    both = [pid for pid in members if pid in after]
    spent = sum(max(0, after[pid][2] - before[pid][2]) for pid in both) / float(TICKS)
    states = dict((pid, after[pid][0]) for pid in both)
    dead = [pid for pid in both if states[pid] in "ZX" and after[pid][1] in states]
    return {
        "processes": sum(state not in "ZX" for state in states.values()),
        "zombies": [{"pid": pid, "parent": after[pid][1], "status": ended_with(pid)} for pid in dead[:MOST_NAMED]],
        "dead": len(dead),
        "stopped": [pid for pid in both if states[pid] in "Tt"][:MOST_NAMED],
        "blocked": [pid for pid in both if states[pid] == "D"][:MOST_NAMED],
        "cpu_percent": round(100.0 * spent / max(seconds, 0.01), 1),
    }


def ended_with(pid: int) -> "int | None":
    """The wait status of a zombie; the kernel shows 0 to strangers, which would read as success."""
    try:
        fields = slurp("/proc/%d/stat" % pid, 2048).rpartition(b")")[2].split()
        own = os.geteuid() in (0, os.stat("/proc/%d" % pid).st_uid)
    except OSError:
        return None
    return int(fields[49]) if own and len(fields) > 49 else None


def table() -> "dict[int, tuple[str, int, int]]":
    """(state, parent, CPU ticks) by pid."""
    rows = {}
    for pid, fields in process_stats():
        rows[pid] = (fields[0].decode("ascii"), int(fields[1]), int(fields[11]) + int(fields[12]))
    return rows


def family(roots: "set[int]", rows: "dict[int, tuple[str, int, int]]") -> "list[int]":
    found = set(root for root in roots if root in rows)
    grew = True
    while grew:
        more = set(pid for pid, row in rows.items() if row[1] in found and pid not in found)
        found |= more
        grew = bool(more)
    return sorted(found)


def chosen_of(members: "list[int]", rows: "dict[int, tuple[str, int, int]]") -> "list[int]":
    """The Python programs that have worked most; of a family without any, whoever has."""
    living = [pid for pid in members if rows[pid][0] not in "ZX"]
    pythons = [pid for pid in living if b"python" in command_of(pid).split(b"\0")[0]]
    return sorted(pythons or living, key=lambda pid: (-rows[pid][2], pid))[:MOST]


def spy_on(pid: int, row: "tuple[str, int, int]", until: float) -> "Spied":
    argv = [word.decode("utf-8", "replace") for word in command_of(pid).split(b"\0") if word]
    try:
        waits = slurp("/proc/%d/wchan" % pid, 256).decode("ascii", "replace").strip()
    except OSError:
        waits = ""
    # A process stuck in the kernel would hang whoever reads it, too.
    threads, why = spied(pid, until) if row[0] != "D" else ([], "it hangs in the kernel")
    waits = waits if waits != "0" else ""
    return {
        "pid": pid,
        "command": " ".join(argv)[:300],
        "doing": row[0],
        "waits": waits,
        "threads": threads,
        "why": why,
    }


def spied(pid: int, until: float) -> "tuple[list[Thread], str]":
    """The threads of a Python program with their innermost frames first, or why they cannot be told."""
    program = found_spy(pid)
    if not program:
        return [], "py-spy is not installed there"
    why = "it was too late"
    for _ in range(3):  # read while it runs, a stack may not hold together
        left = until - time.monotonic()
        if left <= 0.2:
            break
        out, why = dump(program, pid, min(left, 5.0))
        if not why:
            try:
                return [thread_of(thread) for thread in json.loads(out)[:64]], ""
            except (ValueError, KeyError, TypeError, AttributeError):
                why = "py-spy printed something that Dogwatch cannot parse"
    return [], why


def thread_of(thread: "Any") -> "Thread":
    frames: "list[Frame]" = [
        {"name": str(frame["name"])[:200], "file": str(frame["filename"])[:400], "line": int(frame["line"])}
        for frame in thread["frames"][:MOST_FRAMES]
    ]
    return {"name": str(thread.get("thread_name") or "")[:100], "active": bool(thread.get("active")), "frames": frames}


def dump(program: str, pid: int, seconds: float) -> "tuple[str, str]":
    """What py-spy prints of a process, or why it does not."""
    argv = ["py-spy", "dump", "--json", "--nonblocking", "--pid", str(pid)]
    until, folder = time.monotonic() + seconds, os.path.dirname(program)
    ran = run_command(argv, command_environment({}, []), [folder], until, CAP)
    text, complaint = ran["err"].lower(), ran["err"].strip().splitlines() or ["it failed"]
    if ran["rc"] == 0:
        return ran["out"], ""
    if ran["why"] == "late":
        return "", "py-spy did not answer in %.0f s" % seconds
    if "permission denied" in text or "operation not permitted" in text:
        return "", "no permission to read that process"
    return "", "py-spy cannot be run: %s" % ran["why"] if ran["why"] else "py-spy: " + complaint[0][:200]


def found_spy(pid: int) -> str:
    """py-spy in the environment of the process, in ours, or where programs are."""
    places = os.environ.get("PATH", "").split(":") + [os.path.expanduser("~/.local/bin")] + list(PLACES)
    first = command_of(pid).split(b"\0")[0].decode("utf-8", "surrogateescape")
    if first.startswith("/"):
        places.insert(0, os.path.dirname(first))
    # The process chooses its own argv[0]: a program of its user must not run with our rights.
    return trusted_program("py-spy", places) or ""


def command_of(pid: int) -> bytes:
    try:
        return slurp("/proc/%d/cmdline" % pid, 4096)
    except OSError:
        return b""


def ptrace_scope() -> "int | None":
    try:
        return int(slurp("/proc/sys/kernel/yama/ptrace_scope", 16))
    except (OSError, ValueError):
        return None
