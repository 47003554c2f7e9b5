"""Stacks: where the processes of a job that does not move are, asked on its place when somebody wants to know why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dogwatch.reach import errands
from dogwatch.reach.interface import Reach
from dogwatch.redaction import redacted
from dogwatch.text import plain

SECONDS = 12.0
MOST_FRAMES = 12
SLOWER = 0.5  # of its average speed
_LIVING = ("running", "sleeping", "uninterruptible", "stopped")
# What the kernel's name for a wait means, by a part of it.
_WAITS = (
    ("futex", "a lock"),
    ("nanosleep", "the end of a sleep"),
    ("pipe", "somebody at the other end of a pipe"),
    ("unix_stream", "somebody at the other end of a socket"),
    ("inet_csk_accept", "a connection"),
    ("tcp", "the network"),
    ("sk_wait", "the network"),
    ("epoll", "an event, mostly of the network"),
    ("ep_poll", "an event, mostly of the network"),
    ("poll", "an event, mostly of the network"),
    ("select", "an event, mostly of the network"),
    ("do_wait", "one of its children to end"),
    ("nfs", "a network file system"),
    ("rpc_", "a network file system"),
    ("ll_", "a network file system"),
    ("fuse", "a file system in user space"),
    ("io_schedule", "a disk"),
    ("folio_wait", "a disk"),
    ("wait_on_page", "a disk"),
    ("nvidia", "the GPU's driver"),
    ("os_acquire", "the GPU's driver"),
)


def wanted(job: Mapping[str, Any]) -> bool:
    """Whether a closer look at the processes of a job may tell why it does not move."""
    word = (job.get("verdict") or {}).get("word")
    quiet = any(finding["rule"] in ("stalled", "silent") for finding in job.get("findings") or ())
    stuck = quiet or word in ("stalled", "silent but busy", "slow") or is_slower(job)
    return job["state"] == "running" and bool(pids(job)) and stuck


def is_slower(job: Mapping[str, Any]) -> bool:
    """Whether it counts much slower now than on average."""
    progress: Mapping[str, Any] = job.get("progress") or {}
    rate, average = progress.get("rate"), progress.get("rate_average")
    return rate is not None and average is not None and bool(rate < SLOWER * average)


def pids(job: Mapping[str, Any]) -> list[int]:
    workers = job.get("workers") or ()
    return [worker["pid"] for worker in workers if worker.get("pid") and worker["doing"] in _LIVING]


@dataclass(frozen=True, slots=True)
class Closer:
    """A closer look at a job's processes: where they are (None when that was not asked), and what all that descend
    from them do (None when nothing could be learnt)."""

    processes: list[dict[str, Any]] | None
    family: Mapping[str, Any] | None = None


def ask(reach: Reach, job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The processes with what each is doing; one entry that says why where nothing could be learnt."""
    return look(reach, job).processes or []


def look(reach: Reach, job: Mapping[str, Any], spy: bool = True) -> Closer:
    """One question for both; without `spy` nobody's stack is read."""
    call = {"pids": pids(job), "seconds": SECONDS, "spy": spy}
    found, why = errands.send(reach, "stacks", call, 1.6 * SECONDS)
    if found is None:
        return Closer([_nothing(why)] if spy else None)
    told = [_document(process, found.get("ptrace")) for process in found["processes"]]
    return Closer((told or [_nothing("none is there")]) if spy else None, found.get("family"))


def says(process: Mapping[str, Any]) -> str:
    """Where one process is, in a sentence."""
    frames: Sequence[Mapping[str, Any]] = process["frames"]
    name = f"process {process['pid']}"
    if frames:
        own = next((frame for frame in frames[1:] if not _of_library(frame["file"])), None)
        below = f", called from {_spot(own)}" if own is not None else ""
        return f"{name} is in {_spot(frames[0])}{below}"
    waits = f"{name} waits for {process['waits_for']}" if process["waits_for"] else ""
    why = f"its stack cannot be told: {process['why']}" if process["why"] else ""
    return "; ".join(part for part in (waits, why) if part) or f"nothing is known of {name}"


def _document(process: Mapping[str, Any], ptrace: int | None) -> dict[str, Any]:
    threads = process["threads"]
    main = next((one for one in threads if one["name"] == "MainThread"), threads[0] if threads else {"frames": []})
    frames = [
        {"name": _clean(frame["name"]), "file": _clean(frame["file"]), "line": frame["line"]}
        for frame in main["frames"][:MOST_FRAMES]
    ]
    why = str(process["why"])
    if why.startswith("this user may not") and ptrace:
        why += f" (kernel.yama.ptrace_scope is {ptrace}): ask as root, or run the job under a parent that may"
    return {
        "pid": process["pid"],
        "command": _clean(process["command"]),
        "doing": process["doing"],
        "waits_for": next((word for part, word in _WAITS if part in process["waits"]), None),
        "threads": len(threads),
        "frames": frames,
        "why": _clean(why),
    }


def _nothing(why: str) -> dict[str, Any]:
    document: dict[str, Any] = dict.fromkeys(("pid", "command", "doing", "waits_for"))
    return {**document, "threads": 0, "frames": [], "why": _clean(why)}


def _clean(text: str) -> str:
    return redacted(plain(text, 300))


def _of_library(path: str) -> bool:
    return any(part in path for part in ("/lib/python", "site-packages", "dist-packages", "<frozen"))


def _spot(frame: Mapping[str, Any]) -> str:
    return f"{frame['name']} ({str(frame['file']).rpartition('/')[2]}:{frame['line']})"
