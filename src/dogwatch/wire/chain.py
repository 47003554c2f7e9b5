"""Chains as they cross to another machine: what is to run there, and what starting it came to."""

from __future__ import annotations

from msgspec import Struct, field


class After(Struct, frozen=True):
    """What a stage waits for before it starts: a file, a line in the run's own logs, or another run."""

    kind: str
    what: str


class Stage(Struct, frozen=True):
    """One command of a chain, for the shell of the machine; `resume_command` takes its place after an interruption."""

    name: str
    command: str
    after: tuple[After, ...] = ()
    resume_command: str | None = None


class Push(Struct, frozen=True):
    """How the machine itself says that the chain is over: a way and what it needs. `url` may hold a secret."""

    way: str
    url: str = field(default="")
    to: str = ""
    project: str = ""
    space: str = ""


class Chain(Struct, frozen=True):
    """Stages that run one after another, each only after the one before it succeeded. An empty `cwd` is the home."""

    name: str
    stages: tuple[Stage, ...]
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    on_reboot: str = "leave"
    detach: str = "auto"
    sbatch: tuple[str, ...] = ()
    push_way: str | None = None


class Hook(Struct, frozen=True):
    """The line that resumes a chain after a reboot, and whether it stands in the crontab or in which profile."""

    where: str
    line: str


class ChainEnd(Struct, frozen=True):
    """How a chain ended, as end.json says."""

    why: str
    attempt: int
    stage: str = ""
    code: int | None = None
    error: str | None = None


class StartReport(Struct, frozen=True):
    """What came of starting a chain. With an `error` nothing was started, unless it is `unclear`."""

    run: str
    directory: str
    started: bool
    attempts: int
    error: str | None
    unclear: bool
    detach: str
    hook: Hook | None
    end: ChainEnd | None
    python3: bool
    jobs: tuple[int, ...] = ()
