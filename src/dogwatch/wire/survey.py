"""What a machine says that somebody takes over (`remote/survey.sh`), as typed values; text that fits nothing is left
out, and an answer that broke off is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from dogwatch.text import plain

MOST_LINES = 20_000

R = TypeVar("R", bound=msgspec.Struct)


class Owner(msgspec.Struct):
    """The supervisor that holds a run."""

    pid: int | None = None
    start: int | None = None
    boot: str | None = None


class End(msgspec.Struct):
    """How a run ended."""

    code: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run directory: whether its supervisor lives, and how the run ended, if it did."""

    directory: str
    supervised: bool
    end: End | None
    marks: int


@dataclass(frozen=True, slots=True)
class Survey:
    """One machine. `processes` has for each pid that was asked about its start time, or None where it is gone."""

    boot: str
    machine: str
    runs: tuple[FoundRun, ...] = ()
    sessions: tuple[str, ...] = ()
    processes: dict[int, int | None] = field(default_factory=dict)


def read(text: bytes) -> Survey | None:
    """The answer of survey.sh; None where it broke off."""
    lines = text.decode("utf-8", "replace").split("\n")[:MOST_LINES]
    if "end" not in lines:
        return None
    rows = [line.split("\t") for line in lines[: lines.index("end")]]
    about = next((row for row in rows if row[0] == "about" and len(row) == 4), None)
    if about is None:
        return None
    boot = about[2]
    runs = tuple(_run(row, boot) for row in rows if row[0] == "run" and len(row) == 6)
    sessions = tuple(plain(row[1], 200) for row in rows if row[0] == "session" and len(row) == 2)
    processes = {int(row[1]): start_of(row[2]) for row in rows if row[0] == "process" and row[1].isdecimal()}
    return Survey(boot, about[3], runs, sessions, processes)


def _run(row: list[str], boot: str) -> FoundRun:
    _, directory, owner_text, end_text, stat, marks = row
    owner, end = _record(owner_text, Owner), _record(end_text, End)
    lives = owner is not None and owner.start is not None and owner.start == start_of(stat)
    return FoundRun(directory, lives and owner is not None and owner.boot in (None, boot), end, len(marks.split()))


def _record(text: str, kind: type[R]) -> R | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def start_of(stat: str) -> int | None:
    """When a process started, by its line in /proc; None for one that is gone or only waits to be reaped."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in "ZX" or not fields[19].isdecimal():
        return None
    return int(fields[19])
