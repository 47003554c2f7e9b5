"""The answers of the extra programs that ride with a poll: GPUs, files, quotas, memory, stacks, the checklist."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from dogwatch.wire.limits import MOST_ROWS, Count, Identity, Name, Number, Path, Said, Seconds, Whole

Listed = Meta(max_length=MOST_ROWS)
Few = Meta(max_length=4096)


class Strict(Struct, forbid_unknown_fields=True):
    """Nothing but what is named here."""


class Why(Strict):
    """Why there is no answer, or that it may come later."""

    why: Said = ""
    pending: bool = False


class GpuHolder(Strict):
    """A process on a GPU."""

    pid: Count
    memory: Count | None
    seen: bool
    name: Said = ""
    above: Annotated[list[Count], Few] = []
    led_by: Annotated[list[Whole], Few] = []
    served: bool = False
    slurm: Name | None = None
    user: Name | None = None


class Gpu(Strict):
    index: Whole
    uuid: Name
    name: Said
    pci: Name
    parent: Name
    trouble: Said
    throttle: Annotated[list[Name], Few]
    processes: Annotated[list[GpuHolder], Few] | None
    used: Number | None
    memory_used: Count | None
    memory_total: Count | None
    watts: Number | None
    watts_limit: Number | None
    celsius: Number | None
    mhz: Count | None
    mhz_most: Count | None
    ecc: Count | None


class Xid(Strict):
    age: Seconds
    pci: Name
    xid: Count
    pid: Count | None


class Gpus(Strict):
    by: Name | None
    gpus: Annotated[list[Gpu], Few]
    driver: Name
    xids: Annotated[list[Xid], Few] | None
    failed: dict[Name, Said]
    seconds: Seconds
    program: Path | None = None
    why: Said = ""


class FileVerdict(Struct, kw_only=True):
    """Whether a file is intact. `beside` is the pattern next to which it was found, for what nobody named."""

    file: Path
    verdict: Name
    why: Said
    format: Name | None
    size: Count | None
    records: Count | None
    beside: Path | None = None


class OutputVerdict(FileVerdict, kw_only=True):
    """`sure`: nobody had it open for writing, and that could be seen."""

    sure: bool


class CheckpointVerdict(FileVerdict, kw_only=True):
    """What it and its neighbours say of its iteration."""

    iteration: Count | None
    latest: Name


class Lines(Strict):
    known: tuple[Identity, Count, Count]
    size: Count


class FileChecks(Strict):
    lines: Annotated[dict[Path, Lines], Listed]
    files: Annotated[dict[Path, OutputVerdict], Listed]
    checkpoints: Annotated[dict[Path, CheckpointVerdict], Listed]
    guessed: Annotated[list[Path], Listed] | None = None
    weak: bool | None = None


class Integrity(Strict):
    files: Annotated[list[FileVerdict], Listed] = []
    checkpoints: Annotated[dict[Path, CheckpointVerdict], Listed] = {}
    jobs: Annotated[dict[Name, FileChecks], Listed] = {}
    why: Said = ""


class Quota(Strict):
    who: Name
    used: Count
    soft: Count
    limit: Count
    files: Count
    files_soft: Count
    files_limit: Count


class Quotas(Strict):
    quotas: Annotated[dict[Path, Annotated[list[Quota], Few]], Listed]


class Trees(Strict):
    bytes: Annotated[dict[Name, Count], Listed]
    processes: Count
    rough: Count


class Memory(Strict):
    """What a Slurm job holds, by its cgroup or by sstat."""

    used: Count
    by: Name
    limit: Count | None = None
    top: Count = 0
    usual: Count | None = None
    nodes: Count | None = None
    given: Count | None = None
    left: Seconds | None = None


class SchedulerMemory(Strict):
    jobs: Annotated[dict[Name, Memory], Listed]
    pieces: Annotated[dict[Name, dict[Name, Memory]], Listed]
    counts: dict[Name, Count]
    about: dict[Name, Name] = {}


class Ram(Strict):
    cpu: Seconds
    trees: Trees | None = None
    slurm: SchedulerMemory | None = None

    def section(self, name: str) -> SchedulerMemory:
        """What a scheduler's part says; one that is not there says nothing."""
        return getattr(self, name, None) or SchedulerMemory({}, {}, {})


class Frame(Strict):
    name: Said
    file: Path
    line: Whole


class Thread(Strict):
    name: Said
    active: bool
    frames: Annotated[list[Frame], Few]


class Spied(Strict):
    pid: Count
    command: Said
    doing: Name
    waits: Said
    threads: Annotated[list[Thread], Few]
    why: Said


class Zombie(Strict):
    pid: Count
    parent: Count
    status: Whole | None


class Family(Strict):
    processes: Count
    zombies: Annotated[list[Zombie], Few]
    dead: Count
    stopped: Annotated[list[Count], Few]
    blocked: Annotated[list[Count], Few]
    cpu_percent: Number


class Stacks(Strict):
    processes: Annotated[list[Spied], Few]
    ptrace: Any
    family: Family


class Answered(Struct):
    """The answer to one question of the checklist, or why there is none; `found` has a struct in preflight.py."""

    ok: bool
    seconds: Seconds = 0.0
    why: Said = "no reason was given"
    found: Any = None


class Preflight(Struct):
    """All answers by question, and the environment in which the job would start."""

    found: Annotated[dict[Path, Answered], Few]
    variables: Annotated[dict[Name, bool], Few]
    shown: Annotated[dict[Name, Said | None], Few]
    cwd: Path
    there: bool


# By the key under which a request carries the program.
PROGRAMS = {
    "gpus": Gpus,
    "integrity": Integrity,
    "closer": Integrity,
    "quota": Quotas,
    "memory": Ram,
    "stacks": Stacks,
    "preflight": Preflight,
}
