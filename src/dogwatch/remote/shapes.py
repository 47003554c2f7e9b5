"""What the programs answer and what extra probes are asked, for mypy. Nothing here travels: programs name these types
in annotations only. `wire/` has the same answers as structs with the same names, and a test compares the two.
"""

from typing import NotRequired, Required, TypedDict

Identity = tuple[int, int | None, str | None]  # pid, start time, boot id


class Head(TypedDict):
    ok: bool
    seconds: NotRequired[float]
    why: NotRequired[str]
    late: NotRequired[list[str]]


class MemoryHeld(TypedDict, total=False):
    used: int
    limit: int
    machine: bool


class Oom(MemoryHeld):
    cgroup: str
    kills: int


class Process(TypedDict):
    pid: int
    doing: str
    start: int | None
    boot: str | None
    started: float | None
    cpu: float | None
    rss: int | None
    children: int | None
    threads: int | None
    uid: int | None
    command: str | None
    exit: int | None
    oom: Oom | None
    kernel_log: str | None
    rebooted: NotRequired[bool]
    writes: NotRequired[list[str]]


class Choice(TypedDict):
    pid: int
    uid: int | None
    command: str
    started: float | None


class Find(TypedDict):
    workers: list[Identity]
    process: list[Process]
    problem: str | None
    others: NotRequired[int | None]
    choice: NotRequired[list[Choice]]
    count: NotRequired[int]
    numbers: NotRequired[list[int]]
    age: NotRequired[float]
    gone: NotRequired[list[int]]
    named: NotRequired[int]


class Record(TypedDict, total=False):
    """What the supervisor wrote into a run directory, as far as it is read here."""

    run: str
    workers: int
    pid: int
    start: int | None
    boot: str | None


class PidFile(TypedDict, total=False):
    text: str
    mtime: float
    why: str | None
    absent: bool


class RunRecords(TypedDict, total=False):
    supervisor: Record | None
    workers: int | None
    starts: dict[str, Record]
    ends: dict[str, Record]
    problem: Required[str | None]
    mark: int
    abandoned: bool
    same: bool


class RunWorker(TypedDict):
    index: int
    start: Record | None
    end: Record | None
    process: Process | None


class Run(TypedDict):
    supervisor: Record | None
    supervisor_alive: bool | None
    spec_workers: int | None
    workers: list[RunWorker]
    abandoned: bool
    problem: str | None


class ProcessSection(TypedDict, total=False):
    ok: Required[bool]
    seconds: float
    why: str
    runs: dict[str, Run]
    pids: dict[str, list[Process]]
    find: dict[str, Find]


class WithFolders(TypedDict, total=False):
    """Where the folders of a question lead: those looked at for the first time, and those that lead elsewhere now."""

    real: dict[str, str]
    moved: list[str]


LogFile = TypedDict(
    "LogFile",
    {
        "dev": int,
        "ino": int,
        "head": int,
        "headlen": int,
        "size": int,
        "mtime": float,
        "from": int,
        "text": str,
        "reset": str | None,
        "skipped": int,
        "opening": NotRequired[str],
        "stale": NotRequired[bool],
        "rotated_from": NotRequired[str],
        "born": NotRequired[float],
    },
)


class Logs(WithFolders, total=False):
    files: dict[str, LogFile]
    unchanged: list[str]
    missing: list[str]
    unreadable: dict[str, str]
    gone: list[str]
    capped: bool
    same: bool
    again: bool


TextFile = TypedDict("TextFile", {"text": str, "from": int, "offset": int, "size": int, "mtime": float, "reset": bool})


class Texts(WithFolders):
    files: dict[str, TextFile]
    missing: list[str]
    unreadable: dict[str, str]
    capped: bool


class ListedFile(TypedDict):
    path: str
    size: int | None
    mtime: float
    inside: NotRequired[list[float]]


class Files(WithFolders):
    capped: bool
    missing: list[str]
    unreadable: dict[str, str]
    outputs: list[ListedFile]
    checkpoints: list[ListedFile]


class Disk(TypedDict):
    total: int
    free: int
    mount: str
    writable: bool
    inodes: int
    inodes_free: int


class Why(TypedDict):
    why: str | None


class GpuMetrics(WithFolders):
    header: str
    text: str
    size: int
    mtime: float


class Usage(TypedDict):
    processes: int
    cpu: float
    read: int
    write: int
    unread: int
    blocked: int
    stopped: int
    age: float | None


class Ran(TypedDict):
    rc: int | None
    out: str
    err: str
    seconds: float
    why: str | None
    ids: NotRequired[list[str]]
    users: NotRequired[dict[str, str]]


class CommandsSection(TypedDict, total=False):
    ok: Required[bool]
    seconds: float
    why: str
    me: str
    ran: dict[str, Ran]
    counts: dict[str, int]
