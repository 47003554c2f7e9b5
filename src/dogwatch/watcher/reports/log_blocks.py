"""The experiment log's blocks as text: event and job documents in, lines out; nothing here reads or writes.

Every block starts with the local time in brackets and ends with a newline. Names come from jobs and are made
plain, so that none of them can forge a block of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dogwatch.model.scheduler import status
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.report import GpuReading
    from dogwatch.wire.documents.watch import EventBody, EventDocument

ACTION = "Updated run state"
NOT_POLLED = "UNKNOWN"
EXCEEDED = "⚠️ Time limit exceeded — consider increasing eval time limit when re-scaffolding"
_GIB, _MIB = 1 << 30, 1 << 20


def status_check(
    at: float, words: Sequence[str | None], what: str, unreachable: Mapping[str, str] | None = None
) -> str:
    """That somebody looked, and how many jobs are in which state; of a place that did not answer, that too."""
    counted = _counts(words, ("PENDING", "RUNNING", "COMPLETED"))
    found = f"{len(words)} job{'' if len(words) == 1 else 's'} found - {counted}"
    lines = [f"Result: {found}"]
    if unreachable:
        who = "; ".join(f"{plain(place, 60)} did not answer ({plain(why, 120)})" for place, why in unreachable.items())
        lines = [f"Result: {who}; last known: {found}"]
    return _block(at, "STATUS_CHECK", f"Polling {what}", lines)


def query_failed(at: float, place: str, why: str, times: int, since: float | None, what: str) -> str:
    """That a place could not be asked, how often in a row and since when; nothing is known to have changed."""
    began = "" if since is None else f", since {local(since)}"
    lines = [
        f"Host: {plain(place, 60)}",
        f"Reason: {plain(why, 200)}",
        f"Failures: {times} in a row{began}",
        "Action: Retry at next interval",
    ]
    return _block(at, "ERROR", f"Polling {what} failed", lines)


def state_change(event: EventDocument, job: JobDocument, before: str | None, started: float | None) -> str:
    """Before → after of one job. `before` is the word it had in this log, `started` when it began to run."""
    body, at = event["body"], unix(event["at"]) or 0.0
    now = word_of(body)
    lines = [
        f"Previous: {before or NOT_POLLED}",
        f"Current: {now or NOT_POLLED}",
        f"Job ID: {plain(job['id'], 80)}",
    ]
    if body.get("after") == "ended":
        ended = _ended_at(event, job) or at
        lines.append(f"Completed: {local(ended)}")
        wall = job["efficiency"]["wall_seconds"] if job["efficiency"] else None
        if wall is None and started is not None:
            wall = max(0.0, ended - started)
        lines += [] if wall is None else [f"Elapsed: {elapsed(wall)}"]
    lines.append(f"Action: {ACTION}")
    results = _result_log(job) if body.get("after") == "ended" else None
    lines += [] if results is None else [f"Result log: {plain(results, 300)}"]
    return _block(at, "STATE_CHANGE", plain(job["name"], 200), lines)


def compute_metrics(at: float, job: JobDocument) -> str | None:
    """What an ended job used of what it asked for; None while that is not known."""
    used = job.get("efficiency")
    if not used or (seconds := used["wall_seconds"]) is None:
        return None
    limit, share = used.get("limit_seconds"), used.get("wall_percent")
    wall = f"GPU Time: {clock_time(seconds)} / {'unlimited' if limit is None else clock_time(limit)}"
    if used.get("exceeded"):
        wall += " (**EXCEEDED**)"
    elif share is not None:
        wall += f" ({share:.1f}%)"
    lines = [f"Job ID: {plain(job['id'], 80)}", wall]
    if used.get("memory_bytes") is not None or used.get("memory_requested_bytes") is not None:
        lines.append(f"Memory: {_size(used.get('memory_bytes'))} / {_size(used.get('memory_requested_bytes'))}")
    if used.get("cpu_percent") is not None:
        lines.append(f"CPU Efficiency: {used['cpu_percent']:.1f}%")
    lines += [EXCEEDED] if used.get("exceeded") else []
    return _block(at, "COMPUTE_METRICS", plain(job["name"], 200), lines)


def resource_status(at: float, job: JobDocument, reading: GpuReading) -> str | None:
    """The GPU as it was last read: {"gpu_percent", "gpu_memory_used_bytes", "gpu_memory_total_bytes"}, each may
    be None; nothing at all is said when nothing was read."""
    share, used = reading.get("gpu_percent"), reading.get("gpu_memory_used_bytes")
    total = reading.get("gpu_memory_total_bytes")
    if share is None and used is None:
        return None
    busy = "N/A" if share is None else f"{share:.0f}%"
    line = f"GPU Utilization: {busy} | GPU Memory: {_gigabytes(used)}/{_gigabytes(total)} GB"
    return _block(at, "RESOURCE_STATUS", plain(job["name"], 200), [line])


def all_complete(at: float, words: Sequence[str | None], seconds: float) -> str:
    """That nothing of a set of jobs is left to wait for."""
    plural = "" if len(words) == 1 else "s"
    lines = [
        f"Summary: {len(words)} evaluation{plural} completed - {_counts(words, ('COMPLETED', 'FAILED'))}",
        f"Total time: {_long_time(seconds)}",
    ]
    return _block(at, "ALL_COMPLETE", "Monitoring finished", lines)


def word_of(body: EventBody) -> str | None:
    """The scheduler's word for the state that a job.state event led to."""
    return status(body.get("after"), body.get("outcome"), body.get("native"))


def unix(stamped: str | None) -> float | None:
    """A document's time as seconds, whole: blocks show no fractions."""
    import calendar

    return None if stamped is None else float(calendar.timegm(time.strptime(stamped[:19], "%Y-%m-%dT%H:%M:%S")))


def seconds_before(one: str, other: str) -> float:
    """How much earlier one stamp of a block is than another; 0 for what is later."""
    form = "[%Y-%m-%d %H:%M:%S]"
    return max(0.0, time.mktime(time.strptime(other, form)) - time.mktime(time.strptime(one, form)))


def local(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def elapsed(seconds: float) -> str:
    """4m 52s; with hours and days where there are any."""
    left = round(seconds)
    parts: list[str] = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if left >= size or parts:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join([*parts, f"{left}s"])


def clock_time(seconds: float) -> str:
    """00:09:52, or 1-02:00:00, as schedulers write it."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{f'{days}-' if days else ''}{hour:02d}:{minute:02d}:{second:02d}"


def _block(at: float, kind: str, subject: str, lines: Sequence[str]) -> str:
    return "\n".join([f"[{local(at)}] {kind}: {subject}", *lines, ""])


def _counts(words: Sequence[str | None], always: Sequence[str]) -> str:
    found = [word or NOT_POLLED for word in words]
    shown = [*always, *sorted(set(found) - set(always))]
    return ", ".join(f"{found.count(word)} {word}" for word in shown)


def _ended_at(event: EventDocument, job: JobDocument) -> float | None:
    """When it ended by its own record, if what is known of the job still is this very ending."""
    same = job["state"] == "ended" and job["attempts"] == event["body"].get("attempt")
    return unix(job["since"]) if same else None


def _result_log(job: JobDocument) -> str | None:
    paths = [*job["expect"]["logs"], *([job["stdout"]] if job.get("stdout") else ())]
    if len(paths) <= 1:
        return paths[0] if paths else None
    folders = {os.path.dirname(path) for path in paths}
    return f"{os.path.commonpath(folders)}/" if all(map(os.path.isabs, paths)) else str(paths[0])


def _size(number: float | None) -> str:
    if number is None:
        return "unknown"
    return f"{number / _GIB:.2f} GB" if number >= _GIB else f"{number / _MIB:.2f} MB"


def _gigabytes(number: float | None) -> str:
    return "N/A" if number is None else f"{number / _GIB:.1f}"


def _long_time(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return _plural(whole, "second")
    hours, minutes = divmod(round(whole / 60), 60)
    words = [_plural(hours, "hour")] if hours else []
    return " ".join([*words, *([_plural(minutes, "minute")] if minutes or not hours else [])])


def _plural(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
