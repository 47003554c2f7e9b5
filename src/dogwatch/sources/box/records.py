"""The records of a chain, field by field. They are the run's own files: one that does not fit makes nothing known of
that run, and is named with the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from dogwatch.text import plain
from dogwatch.wire.limits import Count, Name, Seconds, Whole
from dogwatch.wire.sections import Who

MOST_STAGES = 1000
Text = Annotated[str, Meta(max_length=65536)]
Kind = TypeVar("Kind", bound=Struct)


class StageSpec(Struct):
    """A stage as it was asked for."""

    name: Name
    log: Name = ""


class Spec(Struct):
    """The intent: what was to be run, written before anything started."""

    stages: Annotated[list[StageSpec], Meta(max_length=MOST_STAGES)]
    run: Name = ""
    created: Seconds | None = None
    on_reboot: Name = "leave"
    session: Name | None = None


class Claim(Struct):
    """A supervisor's or a stage's process; the first field of a lock has nothing else."""

    pid: Count
    start: Count | None = None
    boot: Name | None = None
    at: Seconds | None = None
    attempt: Count | None = None
    machine: Name | None = None
    why: Name = ""
    log_from: Count = 0

    @property
    def who(self) -> Who:
        return self.pid, self.start, self.boot


class Wait(Struct):
    attempt: Count | None = None
    for_: Text = field(default="", name="for")
    at: Seconds | None = None


class StageEnd(Struct):
    """How a stage ended; a stage's marker is one of these with code 0."""

    attempt: Count | None = None
    started: Seconds | None = None
    ended: Seconds | None = None
    at: Seconds | None = None
    code: Whole | None = None
    signal: Whole | None = None


class Heartbeat(Struct):
    at: Seconds
    attempt: Count | None = None
    line: Text = ""


class ChainEnd(Struct):
    attempt: Count | None = None
    at: Seconds | None = None
    code: Whole | None = None
    why: Name = ""
    error: Text | None = None


class Pushed(Struct):
    at: Seconds | None = None
    ok: bool = False
    way: Name = ""
    detail: Text | None = None


class CancelRecord(Struct):
    at: Seconds | None = None
    by: Name | None = None


class Unreadable(Exception):
    """A record that does not fit; the words name the file and the field."""


class ChainFiles(Struct):
    """All records of a run directory that were there."""

    spec: Spec | None = None
    owner: Claim | None = None
    heartbeat: Heartbeat | None = None
    end: ChainEnd | None = None
    pushed: Pushed | None = None
    cancelled: CancelRecord | None = None
    attempts: dict[int, Claim] = {}
    starts: dict[int, Claim] = {}
    waits: dict[int, Wait] = {}
    done: dict[int, StageEnd] = {}
    ends: dict[int, StageEnd] = {}

    @property
    def attempt(self) -> int:
        """The newest attempt; 0 before the first."""
        return max(self.attempts, default=0)


_SINGLE: dict[str, tuple[str, type[Struct]]] = {
    "spec.json": ("spec", Spec),
    "lock/owner.json": ("owner", Claim),
    "heartbeat.json": ("heartbeat", Heartbeat),
    "end.json": ("end", ChainEnd),
    "pushed.json": ("pushed", Pushed),
    "cancelled.json": ("cancelled", CancelRecord),
}
_NUMBERED: tuple[tuple[re.Pattern[str], str, type[Struct]], ...] = (
    (re.compile(r"attempt-(\d{1,6})\.json"), "attempts", Claim),
    (re.compile(r"stage-(\d{1,4})\.start\.json"), "starts", Claim),
    (re.compile(r"stage-(\d{1,4})\.waits\.json"), "waits", Wait),
    (re.compile(r"stage-(\d{1,4})\.done"), "done", StageEnd),
    (re.compile(r"stage-(\d{1,4})\.end\.json"), "ends", StageEnd),
)


def read(texts: Mapping[str, str]) -> ChainFiles:
    """The records as values; Unreadable if any is not what it should be."""
    files = ChainFiles()
    for name, text in texts.items():
        if name in _SINGLE:
            attribute, kind = _SINGLE[name]
            setattr(files, attribute, _read(name, text, kind))
            continue
        for pattern, attribute, kind in _NUMBERED:
            if match := pattern.fullmatch(name):
                getattr(files, attribute)[int(match[1])] = _read(name, text, kind)
    return files


def _read(name: str, text: str, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise Unreadable(f"{plain(name, 60)} is not a record: {plain(str(error), 200)}") from None
