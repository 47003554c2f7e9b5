"""Logs: the newest lines of a job's logs, read on the place by the probe, never by the asker itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dogwatch.errors import CouldNotLook, UsageError
from dogwatch.model import Dark
from dogwatch.reach.interface import Reach

MOST_BYTES = 4_000_000
DEADLINE = 10.0


@dataclass(slots=True)
class Tail:
    """The end of one log: the bytes last read and where they stop."""

    path: str
    raw: bytes
    offset: int
    headed_by: str = ""

    def lines(self) -> list[str]:
        """Its lines; a carriage return ends one, as on the terminal it was meant for."""
        text = self.raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        return text.split("\n")[: -1 if text.endswith("\n") else None] if text else []

    def document(self) -> dict[str, Any]:
        return {"path": self.path, "lines": self.lines()}


def tails(reach: Reach, job: dict[str, Any], lines: int, worker: int | None) -> list[Tail]:
    """The last `lines` lines of each log of the job, or of one worker's."""
    return [_tail(reach, path, lines) for path in _paths(reach, job, worker)]


def more(reach: Reach, tail: Tail) -> bool:
    """Read on from where the tail stops; whether there was anything."""
    section = _ask(reach, {"tail": {"path": tail.path, "offset": tail.offset, "max": MOST_BYTES}}, "tail")
    tail.raw = section["text"].encode("latin-1", "replace")
    tail.offset = section["offset"]
    return bool(tail.raw)


def _tail(reach: Reach, path: str, lines: int) -> Tail:
    section = _ask(reach, {"tail": {"path": path, "lines": lines, "max": MOST_BYTES}}, "tail")
    return Tail(path, section["text"].encode("latin-1", "replace"), section["offset"])


def _paths(reach: Reach, job: dict[str, Any], worker: int | None) -> list[str]:
    if worker is not None:
        known = {one["index"]: one["log"] for one in job["workers"]}
        if known.get(worker) is None:
            raise UsageError(f"{job['ref']} has no worker {worker} with a log of its own")
        return [known[worker]]
    globs = (job.get("expect") or {}).get("logs") or []
    if not globs:
        raise UsageError(f"no log is known of {job['ref']}; `dogwatch add` takes --log")
    section = _ask(reach, {"files": {"it": {"outputs": list(globs)}}}, "files")
    found = sorted(entry["path"] for entry in section["it"]["outputs"])
    if not found:
        raise UsageError(f"{job['ref']} has no log yet: nothing matches {', '.join(globs)}")
    return found


def _ask(reach: Reach, request: dict[str, Any], section: str) -> dict[str, Any]:
    answer = reach.ask(request, DEADLINE)
    if isinstance(answer, Dark):
        raise CouldNotLook(f"could not read the log: {answer.why}")
    found: dict[str, Any] = answer.body.get(section) or {}
    if not found.get("ok"):
        raise CouldNotLook(f"could not read the log: {found.get('why', 'no reason given')}")
    return found
