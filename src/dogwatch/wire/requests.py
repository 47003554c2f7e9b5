"""What the probe is asked for, beside the sections of sources. What is as usual is not sent."""

from __future__ import annotations

from msgspec import Struct


class LogCursor(Struct, frozen=True, omit_defaults=True):
    """A log as the probe is asked for it: which file it is, and from where on it is to be read. `part_of` is the log
    that this file is a rotated part of."""

    dev: int
    ino: int
    head: int
    headlen: int
    offset: int
    part_of: str | None = None
    stale_seen: bool = False


class LogRequest(Struct, omit_defaults=True):
    """The new bytes of logs: of each that is known those from its cursor on, at most `max`; the `last` ones of a log
    that is longer. `real` is where folders were at first sight."""

    globs: list[str]
    known: dict[str, LogCursor]
    real: dict[str, str] = {}
    max: int | None = None
    last: bool = False


class TextRequest(Struct, omit_defaults=True):
    """The newest so many files, and of each so many bytes at most: its last `lines`, or its `tail`."""

    globs: list[str]
    files: int
    max: int
    lines: int | None = None
    tail: int | None = None
    real: dict[str, str] = {}


class FileRequest(Struct, omit_defaults=True):
    """Outputs and checkpoints to list. Of the globs in `folders` nothing is listed: only where their folders are."""

    outputs: list[str] = []
    checkpoints: list[str] = []
    real: dict[str, str] = {}
    folders: list[str] = []


class GpuCall(Struct):
    """`since` so many seconds ago errors count; the ways in `skip` are not tried."""

    seconds: float
    since: float
    skip: list[str]


class SchedulerMemoryCall(Struct):
    """What jobs of a scheduler hold. `many` are jobs of several pieces, each with those that are known; `new` those of
    which no limit is known; the rest is how its commands are run."""

    ids: list[str]
    many: dict[str, list[str]]
    new: list[str]
    about: bool
    path: list[str] = []
    environment: dict[str, str] = {}
    unset: list[str] = []


# The trees below `pids`, and under the name of its section what is asked of each scheduler.
MemoryCall = dict[str, float | list[int] | SchedulerMemoryCall]


class QuotaCall(Struct):
    paths: list[str]
    seconds: float


class Guess(Struct):
    """Where to search for checkpoints that nobody named."""

    folders: list[str]
    pids: list[int]
    since: float
    weak: bool


class JobFilesCall(Struct, omit_defaults=True):
    """Of one job: texts whose new lines are counted, files and checkpoints to judge."""

    lines: dict[str, tuple[int, int, int] | tuple[()]] = {}
    files: list[str] = []
    checkpoints: list[str] = []
    guess: Guess | None = None
    far: bool = False
    real: dict[str, str] = {}


class IntegrityCall(Struct, omit_defaults=True):
    """Files to judge: of running jobs (`jobs`), or what jobs that ended have left."""

    seconds: float
    bytes: int
    jobs: dict[str, JobFilesCall] = {}
    paths: list[str] = []
    left: dict[str, float] = {}
    checkpoints: list[list[str]] = []
    real: dict[str, str] = {}


Call = GpuCall | MemoryCall | QuotaCall | IntegrityCall


class ExtraProbe(Struct, omit_defaults=True):
    """A program that rides with a poll. The poll waits for it to the end, or so many seconds: then it runs beside the
    poll for at most `seconds`, and a later poll may get its answer."""

    program: str
    call: Call
    seconds: int | None = None
    wait: int | None = None


class PollRequest(Struct, omit_defaults=True):
    """Logs, files and usage by job; at most so many `bytes` of files in all."""

    logs: dict[str, LogRequest] = {}
    texts: dict[str, TextRequest] = {}
    files: dict[str, FileRequest] = {}
    disks: list[str] = []
    usage: dict[str, list[int]] = {}
    extra_probes: dict[str, ExtraProbe] = {}
    bytes: int | None = None
