"""Why: the diagnosis of a job that ended, or of logs that somebody names with whatever else they know."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dogwatch.causes import Evidence, Log, diagnose
from dogwatch.causes.document import document
from dogwatch.desk import standing
from dogwatch.desk.log_file import pieces
from dogwatch.desk.logs import Tail
from dogwatch.errors import UsageError

LAST_LINES = 20_000  # of each log that are read for a job whose watcher heard nothing


def of_logs(
    paths: Sequence[str],
    exit_code: int | None = None,
    signal_number: int | None = None,
    state: str = "",
    from_line: int = 1,
) -> dict[str, Any]:
    """The diagnosis of one attempt that wrote these logs; CouldNotLook when one of them cannot be read.
    With `from_line`, what stands above that line was written by somebody else and does not count."""
    logs = tuple(Log(path, _from(pieces(path), from_line), from_line) for path in paths)
    evidence = Evidence(logs, exit_code, signal_number, state=state)
    return document(diagnose(evidence))


def has_failed(job: Mapping[str, Any]) -> bool:
    return bool(job["state"] == "ended" and job["outcome"] not in ("succeeded", "cancelled"))


def is_settled(job: Mapping[str, Any]) -> bool:
    """Whether what is known of a job answers the question without another look at its logs: a root error does, a
    consequence may have its root in a part that was passed over while the log grew too fast."""
    told = job.get("diagnosis")
    plain = told is not None and told["cause"] != "unknown" and told["role"] == "root"
    return job["state"] != "ended" or job["outcome"] == "succeeded" or plain


def of_job(
    job: Mapping[str, Any],
    tails: Sequence[Tail] = (),
    processes: Sequence[Mapping[str, Any]] | None = None,
    family: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The diagnosis of a job: what the watcher concluded at its end, or what the ends of its logs say; of one that has
    not ended, where it stands, and its processes if they were asked."""
    if job["state"] != "ended":
        stands = standing.document(job if family is None else {**job, "family": family}, processes)
        return {**document(None), "title": f"it has not ended; {stands['says']}", "standing": stands}
    if job["outcome"] == "succeeded":
        return {**document(None), "title": "it succeeded"}
    told: dict[str, Any] | None = job.get("diagnosis")
    if is_settled(job) or not tails:
        return told or document(None)
    unknown, failed = job["outcome"] == "unknown", job["outcome"] == "failed"
    evidence = Evidence(
        tuple(_own_part(tail, job) for tail in tails),
        exit_code=job["exit_code"],
        signal=job["signal"],
        state="" if unknown or failed else str(job["outcome"]),
        reason=job["reason"] or "",
        succeeded=None if unknown else False,
    )
    found = document(diagnose(evidence))
    if told is None:
        return found
    better = found["cause"] not in (None, "unknown") and (told["cause"] == "unknown" or found["role"] == "root")
    return found if better else told


def _own_part(tail: Tail, job: Mapping[str, Any]) -> Log:
    """The end of a log, without what others had written there before this attempt began."""
    *_, last = job.get("history") or [{"logs": {}}]
    top = tail.offset - len(tail.raw)
    cut = last["logs"].get(tail.path, 0) - top
    if not 0 < cut <= len(tail.raw):
        return Log(tail.path, [tail.raw], 1 if top == 0 else None)
    return Log(tail.path, [tail.raw[cut:]], 1 + tail.raw.count(b"\n", 0, cut) if top == 0 else None)


def signal_of(text: str) -> int:
    """The number of a signal that was given as 9, KILL or SIGKILL."""
    if text.isdigit() and 0 < int(text) < 65:
        return int(text)
    name = text.upper()
    try:
        return int(signal.Signals[name if name.startswith("SIG") else f"SIG{name}"])
    except KeyError:
        raise UsageError(f"--signal takes a number or a name like KILL or SIGTERM, not {text!r}") from None


def _from(stream: Iterable[bytes], line: int) -> Iterator[bytes]:
    """The stream without the lines above `line`."""
    skip = line - 1
    for piece in stream:
        if skip <= 0:
            yield piece
            continue
        count = piece.count(b"\n")
        if count < skip:
            skip -= count
            continue
        at = -1
        for _ in range(skip):
            at = piece.index(b"\n", at + 1)
        skip = 0
        yield piece[at + 1 :]
