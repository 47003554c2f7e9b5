"""What a rule says of itself, and what it is given to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from dogwatch.model import (
    Closing,
    ErrorGroup,
    Eta,
    Facts,
    Finding,
    Gpu,
    GpuPast,
    Job,
    Known,
    Loss,
    Progress,
    Straggler,
    Verdict,
    Worker,
)

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It judges a job (`judge`), a job that its place could not see (`judge_blind`) or a place. `states` are
    the states of jobs it is about (None: all), `needs` the part of a case without which it has nothing to say.

    What it no longer finds has resolved only if it could look: `gone` says so where `needs` is not enough, `gone_in`
    the states where `states` is not. `gives_way_to` names rules whose findings are this one grown worse, and with
    `spans_attempts` another attempt does not end a finding. What `needs_answer` of its place stays while that does not
    answer; one that `reminds` is said again after so many seconds, until somebody acknowledges it.
    """

    name: str
    judge: Callable[[Case, float], Iterable[Finding]] | None = None
    judge_blind: Callable[[BlindCase, float], Iterable[Finding]] | None = None
    judge_place: Callable[[PlaceCase, float], Iterable[Finding]] | None = None
    states: tuple[type, ...] | None = None
    needs: str | None = None
    gone: Callable[[Case, str], Closing] | None = None
    gone_in: tuple[type, ...] | None = None
    gives_way_to: tuple[str, ...] = ()
    spans_attempts: bool = False
    needs_answer: bool = False
    reminds: float | None = None

    def is_gone(self, case: Case, what: str) -> Closing:
        """Whether what it no longer finds has resolved; OPEN when it could not look."""
        if self.gone is not None:
            return self.gone(case, what)
        return Closing.RESOLVED if self.needs is None or getattr(case, self.needs) else Closing.OPEN


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
    nothing but the size of the machine limits it. `counter` names the scheduler that added up the sizes of
    processes, per node; then `rough` when files that they have mapped are among them. `piece` is the task or part of a
    job that it is about, and `left` the seconds for which that may still run."""

    used: float
    limit: float
    full_in: float | None = None
    machine: bool = False
    counter: str = ""
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
    """What a job produces. `growth` is bytes per second over a long while; `unchanged` the seconds without growth of
    outputs that `usual`ly grow sooner; `silence_limit` how long that is normal (None: they never grew regularly).
    `broken` are outputs, `spoilt` checkpoints; `intact` is the newest whole one; `attempts`: how far each came."""

    growth: float | None = None
    unchanged: float = 0.0
    usual: float = 0.0
    silence_limit: float | None = None
    broken: tuple[Spoilt, ...] = ()
    spoilt: tuple[Spoilt, ...] = ()
    intact: str | None = None
    attempts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was verified at the end of a job: `word` is passed, failed, unknown (it could not be asked) or
    pending (it is asked again)."""

    what: str
    word: str
    text: str


class LostWorker(NamedTuple):
    """The worker that a launch failed for, and the likeliest cause."""

    worker: int | None
    why: str


@dataclass(slots=True)  # made ten thousand times in a poll, three times faster than a frozen one
class Case:
    """A job as the rules see it. `age` is the seconds of really watching it since it was added, `checkpoints` when
    each was written, `gone_in` the seconds until a disk has no "bytes", "inodes" or "quota" left, where a trend says
    so; `gpus` are those it was given or has processes on, and none where nothing was learnt of them; then `gpu_past`
    is None; `made` is what it produces, where anything is known of that. `compared` are the workers whose pace could be
    compared, and `unsure` names rules of which this poll cannot say whether what they found is gone. `stood` is the
    seconds without any progress, once they are more than its owner wants to be warned of. `moved` says which folders of
    its files lead elsewhere now, None where nobody looked."""

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
    facts: Facts = NO_FACTS
    moved: Sequence[str] | None = None
    diagnosis: DiagnosisDocument | None = None
    checkpoints: tuple[float, ...] = ()
    gone_in: Mapping[tuple[str, str], float] = field(default_factory=dict)
    gpus: tuple[Gpu, ...] = ()
    gpu_past: GpuPast | None = None
    made: Made | None = None
    held: Held | None = None
    loss: Loss | None = None
    lost_at_launch: LostWorker | None = None
    compared: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    stood: float = 0.0


@dataclass(frozen=True, slots=True)
class BlindCase:
    """A job that its place, which did answer, could not see, and why."""

    job: Job
    known: Known
    why: str


class Idle(NamedTuple):
    """A machine that its runs have to themselves: whether all of them are over, for how long nothing has run on its
    GPUs, what it costs while it is on, and what ends that."""

    all_over: bool
    gpus_free: float = 0.0
    price_per_hour: float | None = None
    stop: str = ""


@dataclass(frozen=True, slots=True)
class PlaceCase:
    """A place as the rules see it: how many polls in a row stayed unreachable, since when, and why; `locked_out` when
    trying again soon does not help."""

    place: str
    failed_polls: int
    unreachable_since: float | None
    why: str
    jobs: int
    locked_out: bool = False
    idle: Idle | None = None


def gpus_of(case: Case, what: str) -> list[Gpu]:
    """The GPU that a finding is about, if it was read: its `what` begins with the key of that."""
    return [gpu for gpu in case.gpus if what == gpu.key or what.startswith(f"{gpu.key} ")]
