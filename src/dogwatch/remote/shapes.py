"""What the programs answer and what extra probes are asked, for mypy. Nothing here travels: programs name these types
in annotations only. `wire/` has the same answers as structs with the same names, and a test compares the two.
"""

from typing import NotRequired, Required, TypedDict

Identity = tuple[int, int | None, str | None]  # pid, start time, boot id
Head = TypedDict(
    "Head", {"ok": bool, "seconds": NotRequired[float], "why": NotRequired[str], "late": NotRequired[list[str]]}
)
MemoryHeld = TypedDict("MemoryHeld", {"used": int, "limit": int, "machine": bool}, total=False)


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


Choice = TypedDict("Choice", {"pid": int, "uid": int | None, "command": str, "started": float | None})


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


PidFile = TypedDict("PidFile", {"text": str, "mtime": float, "why": str | None, "absent": bool}, total=False)


class RunRecords(TypedDict, total=False):
    supervisor: Record | None
    workers: int | None
    starts: dict[str, Record]
    ends: dict[str, Record]
    problem: Required[str | None]
    mark: int
    abandoned: bool
    same: bool


RunWorker = TypedDict(
    "RunWorker", {"index": int, "start": Record | None, "end": Record | None, "process": Process | None}
)


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


class ChainRecords(TypedDict):
    there: bool
    problem: str | None
    texts: dict[str, str]


class FileCount(TypedDict):
    count: int
    bytes: int
    capped: bool
    newest: list["ListedFile"]
    unreadable: dict[str, str]
    text: NotRequired[str]


class WithFolders(TypedDict, total=False):
    """Where the folders of a question lead: those looked at for the first time, and those that lead elsewhere now."""

    real: dict[str, str]
    moved: list[str]


class BoxFiles(WithFolders, total=False):
    """What the file reader says of one run."""

    chain: ChainRecords
    markers: FileCount
    results: FileCount


TmuxPane = tuple[int, int, bool, str, str]  # when its session was made, pid, dead, status, command
Pane = TypedDict("Pane", {"dead": bool, "status": int | None, "command": str, "process": Process | None})
TmuxSession = TypedDict("TmuxSession", {"name": str, "created": float, "panes": list[Pane]})
Threads = TypedDict("Threads", {"count": int, "running": int, "processes": int})
Tmux = TypedDict("Tmux", {"asked": bool, "why": NotRequired[str]})


class BoxRow(BoxFiles):
    processes: list[Process]
    session: NotRequired[TmuxSession]
    find: NotRequired[Find]
    threads: NotRequired[Threads]


class BoxMachine(TypedDict):
    id: str | None
    wall: float
    boot: str | None
    init_start: int | None
    cpus: int
    quota: float | None
    load: float | None


class BoxSection(TypedDict, total=False):
    ok: Required[bool]
    seconds: float
    why: str
    tmux: Tmux
    machine: BoxMachine
    rows: dict[str, BoxRow]


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


ListedFile = TypedDict(
    "ListedFile", {"path": str, "size": int | None, "mtime": float, "inside": NotRequired[list[float]]}
)


class Files(WithFolders):
    capped: bool
    missing: list[str]
    unreadable: dict[str, str]
    outputs: list[ListedFile]
    checkpoints: list[ListedFile]


Disk = TypedDict("Disk", {"total": int, "free": int, "mount": str, "writable": bool, "inodes": int, "inodes_free": int})
Why = TypedDict("Why", {"why": str | None})


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


class GpuHolder(TypedDict):
    """A process on a GPU."""

    pid: int
    memory: int | None
    seen: bool
    name: NotRequired[str]
    above: NotRequired[list[int]]
    led_by: NotRequired[list[int]]
    served: NotRequired[bool]
    slurm: NotRequired[str]
    user: NotRequired[str]


class Gpu(TypedDict):
    index: int
    uuid: str
    name: str
    pci: str
    parent: str
    trouble: str
    throttle: list[str]
    processes: list[GpuHolder] | None
    used: float | None
    memory_used: int | None
    memory_total: int | None
    watts: float | None
    watts_limit: float | None
    celsius: float | None
    mhz: int | None
    mhz_most: int | None
    ecc: int | None


class GpuReading(TypedDict, total=False):
    """What one way of reading GPUs gives; nothing where there is no such way, `why` where it failed."""

    gpus: list[Gpu]
    driver: str
    why: str


Xid = TypedDict("Xid", {"age": float, "pci": str, "xid": int, "pid": int | None})
GpuCall = TypedDict("GpuCall", {"seconds": float, "skip": list[str], "since": float}, total=False)


class Gpus(TypedDict):
    by: str | None
    gpus: list[Gpu]
    driver: str
    xids: list[Xid] | None
    failed: dict[str, str]
    seconds: float
    program: str | None


class FileVerdict(TypedDict):
    file: str
    verdict: str
    why: str
    format: str | None
    size: int | None
    records: int | None
    beside: NotRequired[str]


class OutputVerdict(FileVerdict):
    sure: bool


class CheckpointVerdict(FileVerdict):
    iteration: int | None
    latest: str


Lines = TypedDict("Lines", {"known": list[int], "size": int})


class FileChecks(TypedDict):
    lines: dict[str, Lines]
    files: dict[str, OutputVerdict]
    checkpoints: dict[str, CheckpointVerdict]
    guessed: NotRequired[list[str]]
    weak: NotRequired[object]


class Integrity(TypedDict, total=False):
    files: list[FileVerdict]
    checkpoints: dict[str, CheckpointVerdict]
    jobs: dict[str, FileChecks]


class Guess(TypedDict):
    folders: list[str]
    since: float
    pids: NotRequired[list[int]]
    weak: NotRequired[object]


class JobFilesCall(TypedDict, total=False):
    real: dict[str, str]
    lines: dict[str, list[int]]
    guess: Guess
    checkpoints: list[str]
    files: list[str]
    far: bool


class IntegrityCall(TypedDict, total=False):
    seconds: Required[float]
    bytes: Required[int]
    real: dict[str, str]
    jobs: dict[str, JobFilesCall]
    paths: list[str]
    left: dict[str, float | None]
    checkpoints: list[list[str]]


Space = TypedDict("Space", {"who": str, "used": int, "soft": int, "limit": int})


class Quota(Space):
    files: int
    files_soft: int
    files_limit: int


Quotas = TypedDict("Quotas", {"quotas": dict[str, list[Quota]]})
QuotaCall = TypedDict("QuotaCall", {"paths": list[str], "seconds": float})
Trees = TypedDict("Trees", {"bytes": dict[str, int], "processes": int, "rough": int})


class Memory(TypedDict):
    used: int
    by: str
    limit: NotRequired[int]
    top: NotRequired[int]
    usual: NotRequired[int]
    nodes: NotRequired[int]
    given: NotRequired[int | None]
    left: NotRequired[int | None]


class SchedulerMemory(TypedDict):
    jobs: dict[str, Memory]
    pieces: dict[str, dict[str, Memory]]
    counts: dict[str, int]
    about: NotRequired[dict[str, str]]


class SchedulerMemoryCall(TypedDict, total=False):
    ids: Required[list[str]]
    many: dict[str, list[str]]
    new: list[str]
    about: bool
    groups: list[str]
    path: list[str]
    environment: dict[str, str]
    unset: list[str]


Ram = TypedDict("Ram", {"cpu": float, "trees": NotRequired[Trees], "slurm": NotRequired[SchedulerMemory]})
RamCall = TypedDict(
    "RamCall", {"seconds": float, "pids": NotRequired[list[int]], "slurm": NotRequired[SchedulerMemoryCall]}
)


Frame = TypedDict("Frame", {"name": str, "file": str, "line": int})
Thread = TypedDict("Thread", {"name": str, "active": bool, "frames": list[Frame]})
Zombie = TypedDict("Zombie", {"pid": int, "parent": int, "status": int | None})
StacksCall = TypedDict("StacksCall", {"pids": list[int], "seconds": float, "spy": NotRequired[bool]})
Spied = TypedDict(
    "Spied", {"pid": int, "command": str, "doing": str, "waits": str, "threads": list[Thread], "why": str}
)


class Family(TypedDict):
    processes: int
    zombies: list[Zombie]
    dead: int
    stopped: list[int]
    blocked: list[int]
    cpu_percent: float


Stacks = TypedDict("Stacks", {"processes": list[Spied], "ptrace": int | None, "family": Family})


ProgramOutput = TypedDict("ProgramOutput", {"code": int | None, "out": str, "err": str, "why": str | None})


class Program(TypedDict):
    path: str | None
    kind: str
    python: str | None
    flags: list[str]
    script: str | None
    first: str | None
    there: bool
    wrong: NotRequired[str | None]
    signals: NotRequired[dict[str, int | None]]


Found = TypedDict("Found", {"ok": bool, "seconds": float, "found": NotRequired[object], "why": NotRequired[str]})


class Preflight(TypedDict):
    found: dict[str, Found]
    variables: dict[str, bool]
    shown: dict[str, str | None]
    cwd: str
    there: bool


PreflightCall = TypedDict(
    "PreflightCall",
    {
        "seconds": Required[float],
        "env": dict[str, str] | None,
        "set": dict[str, str],
        "cwd": str | None,
        "words": list[str],
        "signals": list[str],
        "modules": list[str],
        "try": bool,
        "gpus": bool,
        "directories": list[str],
        "inputs": list[str],
        "network": list[str],
        "logs": str,
        "checkpoints": str,
        "slurm": str,
        "variables": list[str],
        "shown": list[str],
    },
    total=False,
)
