"""The sections of the probe's answer, field by field. What a field means is said where the probe makes it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from dogwatch.wire.commands import CommandsSection
from dogwatch.wire.limits import MOST_ROWS, Content, Count, Identity, Name, Number, Path, Said, Seconds, Whole

Listed = Meta(max_length=MOST_ROWS)


class Strict(Struct, forbid_unknown_fields=True):
    """Nothing but what is named here."""


class Head(Strict):
    """What every section says of itself."""

    ok: bool
    seconds: Seconds = 0.0
    why: Said = ""
    late: Annotated[list[Name], Listed] = []


class Clock(Strict):
    wall: Seconds
    boottime: Seconds | None


class Oom(Strict):
    """A memory cgroup: what is used of which limit, and how often the kernel killed in it."""

    cgroup: Path
    kills: Count
    used: Whole | None = None
    limit: Count | None = None
    machine: bool = False


class Process(Strict):
    pid: Count
    doing: Name
    start: Count | None
    boot: Name | None
    exit: Whole | None
    oom: Oom | None
    kernel_log: Said | None
    started: Seconds | None
    cpu: Seconds | None
    rss: Count | None
    children: Count | None
    threads: Count | None
    uid: Count | None
    command: Said | None
    rebooted: bool = False
    writes: Annotated[list[Path], Meta(max_length=64)] = []


Who = tuple[Count, Count | None, Name | None]


class Choice(Strict):
    """One of several processes that a name may mean."""

    pid: Count
    uid: Count | None
    command: Said
    started: Seconds | None


class Find(Strict):
    workers: Annotated[list[Who], Listed]
    process: Annotated[list[Process], Listed]
    problem: Said | None
    others: Count | None = None
    choice: Annotated[list[Choice], Meta(max_length=4096)] | None = None
    count: Count | None = None
    numbers: Annotated[list[Count], Listed] | None = None
    age: Seconds | None = None
    gone: Annotated[list[Count], Listed] | None = None
    named: Count | None = None


class OomEnd(Strict):
    counter: Any = None
    kernel_log: Said | None = None
    log_read: bool | None = None


class Record(Struct):
    """A record of the supervisor, as far as it is used; the file is the run's own and may hold more."""

    pid: Count | None = None
    start: Count | None = None
    boot: Name | None = None
    at: Seconds | None = None
    code: Whole | None = None
    signal: Whole | None = None
    error: Said | None = None
    oom: OomEnd | None = None


class RunWorker(Strict):
    index: Count
    start: Record | None
    end: Record | None
    process: Process | None


class Run(Strict):
    supervisor: Record | None
    supervisor_alive: bool | None
    spec_workers: Count | None
    workers: Annotated[list[RunWorker], Meta(max_length=8192)]
    abandoned: bool
    problem: Said | None


class ProcessSection(Strict):
    ok: bool
    seconds: Seconds = 0.0
    why: Said = ""
    runs: Annotated[dict[Name, Run], Listed] | UnsetType = UNSET
    pids: Annotated[dict[Name, list[Process]], Listed] | UnsetType = UNSET
    find: Annotated[dict[Name, Find], Listed] | UnsetType = UNSET

    def __post_init__(self) -> None:
        """A list that is not there is no empty one: of an empty one follows that processes are gone."""
        if self.ok and UNSET in (self.runs, self.pids, self.find):
            raise ValueError("Object lacks `runs`, `pids` or `find`")


RealFolders = Annotated[dict[Path, Path], Listed]
Moved = Annotated[list[Said], Listed]


class LogFile(Strict, rename={"from_": "from"}):
    dev: Identity
    ino: Identity
    head: Count
    headlen: Count
    size: Count
    mtime: Seconds
    from_: Count
    text: Content
    reset: Name | None
    skipped: Whole
    opening: Content = ""
    stale: bool = False
    rotated_from: Path | None = None
    born: Seconds | None = None


class Logs(Strict):
    files: Annotated[dict[Path, LogFile], Listed] = {}
    unchanged: Annotated[list[Path], Listed] = []
    missing: Annotated[list[Path], Listed] = []
    unreadable: Annotated[dict[Path, Said], Listed] = {}
    gone: Annotated[list[Path], Listed] = []
    capped: bool = False
    same: bool = False
    again: bool = False
    real: RealFolders = {}
    moved: Moved = []


class TextFile(Strict, rename={"from_": "from"}):
    text: Content
    from_: Count
    offset: Count
    size: Count
    mtime: Seconds
    reset: bool


class Texts(Strict):
    files: Annotated[dict[Path, TextFile], Listed]
    missing: Annotated[list[Path], Listed]
    unreadable: Annotated[dict[Path, Said], Listed]
    capped: bool
    real: RealFolders = {}
    moved: Moved = []


class ListedFile(Strict):
    path: Path
    size: Count | None
    mtime: Seconds
    inside: tuple[Number, Number, Number] | None = None


class Output(Strict):
    """A regular file; only a checkpoint may be a directory, which has no size."""

    path: Path
    size: Count
    mtime: Seconds


class Files(Strict):
    capped: bool
    missing: Annotated[list[Path], Listed]
    unreadable: Annotated[dict[Path, Said], Listed]
    outputs: Annotated[list[Output], Listed]
    checkpoints: Annotated[list[ListedFile], Listed]
    real: RealFolders = {}
    moved: Moved = []


class Disk(Strict):
    total: Count
    free: Count
    mount: Name
    writable: bool
    inodes: Count
    inodes_free: Count


class Disks(Strict):
    ok: bool
    seconds: Seconds = 0.0
    why: Said = ""
    late: Annotated[list[Name], Listed] = []
    unreadable: Annotated[dict[Path, Said], Listed] = {}
    disks: Annotated[dict[Path, Disk], Listed] = {}


class GpuMetrics(Strict):
    header: Content = ""
    text: Content = ""
    size: Count = 0
    mtime: Seconds = 0.0
    why: Said | None = None
    real: RealFolders = {}
    moved: Moved = []


class Usage(Strict):
    processes: Count
    cpu: Seconds
    read: Count
    write: Count
    unread: Count
    blocked: Count
    stopped: Count
    age: Seconds | None


# Sections of which each row is the answer about one job; beside the rows stands their head.
ROWS = {
    "logs": Logs,
    "texts": Texts,
    "files": Files,
    "gpu_metrics": GpuMetrics | None,
    "usage": Usage,
}
WHOLE = {"process": ProcessSection, "commands": CommandsSection, "disks": Disks}
NO_PROCESSES = ProcessSection(ok=False, why="the answer has no processes")
