"""Stacks: where the processes of a job that does not move are, asked on its place when somebody wants to know why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from msgspec import to_builtins

from dogwatch.redaction import redacted
from dogwatch.text import plain
from dogwatch.transport import extra_probe
from dogwatch.transport.interface import Transport
from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.programs import Spied, Stacks

if TYPE_CHECKING:
    from dogwatch.wire.documents.answers import FamilyAnswer
    from dogwatch.wire.documents.diagnosis import FrameDocument, StackDocument
    from dogwatch.wire.documents.job import JobDocument

SECONDS = 12.0
MOST_FRAMES = 12
SLOWER = 0.5  # of its average speed
_LIVING = ("running", "sleeping", "uninterruptible", "stopped")
# What the kernel's name for a wait means, by a part of it.
_WAITS = (
    ("futex", "a lock"),
    ("nanosleep", "the end of a sleep"),
    ("pipe", "the other end of a pipe"),
    ("unix_stream", "the other end of a socket"),
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


def wanted(job: JobDocument) -> bool:
    """Whether a closer look at the processes of a job may tell why it does not move."""
    verdict = job.get("verdict")
    word = verdict["word"] if verdict else None
    quiet = any(finding["rule"] in ("stalled", "silent") for finding in job.get("findings") or ())
    stuck = quiet or word in ("stalled", "silent but busy", "slow") or is_slower(job)
    return job["state"] == "running" and bool(pids(job)) and stuck


def is_slower(job: JobDocument) -> bool:
    """Whether it counts much slower now than on average."""
    progress = job.get("progress")
    rate, average = (progress["rate"], progress["rate_average"]) if progress else (None, None)
    return rate is not None and average is not None and bool(rate < SLOWER * average)


def pids(job: JobDocument) -> list[int]:
    workers = job.get("workers") or ()
    return [pid for worker in workers if (pid := worker["pid"]) and worker["doing"] in _LIVING]


@dataclass(frozen=True, slots=True)
class LiveProcesses:
    """A closer look at a job's processes: where they are (None when that was not asked), and what all that descend
    from them do (None when nothing could be learnt)."""

    processes: list[StackDocument] | None
    family: FamilyAnswer | None = None


def ask(transport: Transport, job: JobDocument) -> list[StackDocument]:
    """The processes with what each is doing; one entry that says why where nothing could be learnt."""
    return inspect(transport, job).processes or []


def inspect(transport: Transport, job: JobDocument, spy: bool = True) -> LiveProcesses:
    """One question for both; without `spy` nobody's stack is read."""
    call: JsonObject = {"pids": pids(job), "seconds": SECONDS, "spy": spy}
    found = extra_probe.send(transport, "stacks", call, 1.6 * SECONDS, Stacks)
    if isinstance(found, str):
        return LiveProcesses([_nothing(found)] if spy else None)
    processes = [_document(process, found.ptrace) for process in found.processes]
    family = cast("FamilyAnswer", to_builtins(found.family))
    return LiveProcesses((processes or [_nothing("none is there")]) if spy else None, family)


def says(process: StackDocument) -> str:
    """Where one process is, in a sentence."""
    frames = process["frames"]
    name = f"process {process['pid']}"
    if frames:
        own = next((frame for frame in frames[1:] if not _of_library(frame["file"])), None)
        below = f", called from {_spot(own)}" if own is not None else ""
        return f"{name} is in {_spot(frames[0])}{below}"
    waits = f"{name} waits for {process['waits_for']}" if process["waits_for"] else ""
    why = f"its stack cannot be read: {process['why']}" if process["why"] else ""
    return "; ".join(part for part in (waits, why) if part) or f"nothing is known of {name}"


def _document(process: Spied, ptrace: int | None) -> StackDocument:
    threads = process.threads
    main = next((thread for thread in threads if thread.name == "MainThread"), threads[0] if threads else None)
    frames: list[FrameDocument] = [
        {"name": _clean(frame.name), "file": _clean(frame.file), "line": frame.line}
        for frame in (main.frames if main else [])[:MOST_FRAMES]
    ]
    why = process.why
    if why.startswith("this user may not") and ptrace:
        why += f" (kernel.yama.ptrace_scope is {ptrace}): ask as root, or run the job under a parent that may"
    return {
        "pid": process.pid,
        "command": _clean(process.command),
        "doing": process.doing,
        "waits_for": next((word for part, word in _WAITS if part in process.waits), None),
        "threads": len(threads),
        "frames": frames,
        "why": _clean(why),
    }


def _nothing(why: str) -> StackDocument:
    return {
        "pid": None,
        "command": None,
        "doing": None,
        "waits_for": None,
        "threads": 0,
        "frames": [],
        "why": _clean(why),
    }


def _clean(text: str) -> str:
    return redacted(plain(text, 300))


def _of_library(path: str) -> bool:
    return any(part in path for part in ("/lib/python", "site-packages", "dist-packages", "<frozen"))


def _spot(frame: FrameDocument) -> str:
    return f"{frame['name']} ({str(frame['file']).rpartition('/')[2]}:{frame['line']})"
