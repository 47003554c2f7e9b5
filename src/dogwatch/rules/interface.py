"""What a rule is given to judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dogwatch.model import ErrorGroup, Eta, Gpu, GpuPast, Job, Known, Loss, Progress, Straggler, Verdict, Worker


@dataclass(frozen=True, slots=True)
class Quota:
    """What somebody (`who`: user, group or project) may still write there, in bytes and files; a limit of 0 is none."""

    who: str
    free: int
    limit: int
    files_free: int
    files: int
    over_soft: bool = False  # for a while this is allowed


@dataclass(frozen=True, slots=True)
class Disk:
    """Room on the filesystem under a watched path, bytes and inodes, as we may use it, and the tightest quota."""

    path: str
    free: int
    total: int
    inodes_free: int
    inodes: int
    quota: Quota | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Memory in use where a job lives, and the seconds until it is full where it rises steadily; `machine` when
    nothing but the size of the machine limits it. `counted` when Slurm added up the sizes of processes, per node; then
    `rough` when files that they have mapped are among them. `piece` is the task or part of a job that it is about, and
    `left` the seconds for which that may still run."""

    used: float
    limit: float
    full_in: float | None = None
    machine: bool = False
    counted: bool = False
    rough: bool = False
    piece: str = ""
    left: float | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether what was expected at the end is there, in words."""

    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A file that is not whole, why, and what to do."""

    path: str
    why: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """What a job produces. `growth` is bytes per second over a long while, `still` the seconds for which outputs that
    `usual`ly grow in less did not, `patience` how many of those are no news (None: they never grew regularly). `broken`
    are outputs, `spoilt` checkpoints; `sound` names the newest whole one; `attempts`, how far each came, by what."""

    growth: float | None = None
    still: float = 0.0
    usual: float = 0.0
    patience: float | None = None
    broken: tuple[Spoilt, ...] = ()
    spoilt: tuple[Spoilt, ...] = ()
    sound: str | None = None
    attempts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was verified at the end of a job: `word` is passed, failed, unknown (it could not be asked) or
    pending (it is asked again)."""

    what: str
    word: str
    text: str


@dataclass(slots=True)  # made ten thousand times in a look, three times faster than a frozen one
class Case:
    """A job as the rules see it. `age` is the seconds of really watching it since it was added, `checkpoints` when
    each was written, `gone_in` the seconds until a disk has no "bytes", "inodes" or "quota" left, where a trend says
    so; `gpus` are those it was given or has processes on, and none where nothing was learnt of them; then `gpu_past`
    is None; `made` is what it produces, where anything is known of that. `compared` are the workers whose pace could be
    compared, and `unsure` names rules of which this look cannot say whether what they found is gone. `stood` is the
    seconds without any progress, once they are more than its owner wants to be warned of."""

    job: Job
    known: Known
    workers: tuple[Worker, ...] = ()
    age: float = 0.0
    progress: Progress | None = None
    verdict: Verdict | None = None
    straggler: Straggler | None = None
    disks: Mapping[str, Disk] = field(default_factory=dict)
    errors: tuple[ErrorGroup, ...] = ()
    verified: Verified | None = None
    eta: Eta | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Mapping[str, Any] | None = None
    checkpoints: tuple[float, ...] = ()
    gone_in: Mapping[tuple[str, str], float] = field(default_factory=dict)
    gpus: tuple[Gpu, ...] = ()
    gpu_past: GpuPast | None = None
    made: Made | None = None
    held: Held | None = None
    loss: Loss | None = None
    launch: Mapping[str, Any] | None = None
    compared: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    stood: float = 0.0


@dataclass(frozen=True, slots=True)
class BlindCase:
    """A job that its place, which did answer, could not see, and why."""

    job: Job
    known: Known
    why: str


@dataclass(frozen=True, slots=True)
class PlaceCase:
    """A place as the rules see it: how many looks in a row stayed dark, since when, and why; `locked_out` when
    trying again soon does not help."""

    place: str
    dark_looks: int
    dark_since: float | None
    why: str
    jobs: int
    locked_out: bool = False


def gpus_of(case: Case, what: str) -> list[Gpu]:
    """The GPU that a finding is about, if it was read: its `what` begins with the key of that."""
    return [gpu for gpu in case.gpus if what == gpu.key or what.startswith(f"{gpu.key} ")]
