"""Plan: what somebody is about to start, as far as it was said; and the words of its command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dogwatch.errors import UsageError
from dogwatch.profiles import Profile
from dogwatch.text import plain
from dogwatch.wire.json_value import JsonObject

_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s?(?:([kmgt])(i?)b?|b)?", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
# Programs that only start another: how many words of theirs stand before it, and which options take a word.
_WRAPPERS = {
    "nohup": (0, ()),
    "setsid": (0, ()),
    "time": (0, ("-f", "-o")),
    "nice": (0, ("-n",)),
    "ionice": (0, ("-c", "-n")),
    "stdbuf": (0, ("-i", "-o", "-e")),
    "timeout": (1, ("-k", "-s")),
    "taskset": (1, ()),
    "numactl": (0, ("-N", "-m", "-C")),
    "env": (0, ("-u", "-C")),
}
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_EVERY = re.compile(
    r"--?(?:[\w.-]{0,60}[._-])?(?:(?:save|checkpoint|ckpt|checkpointing)[._-]?(?:every|interval|freq|frequency|steps|"
    r"iters|period|epochs?|every[._-]n[._-]\w{1,30}|n[._-]?steps|each)|every[._-]n[._-]\w{1,30})",
    re.IGNORECASE,
)
NEVER = ("0", "-1", "none", "null", "no", "false", "never")


@dataclass(frozen=True, slots=True)
class Command:
    """A command without what only starts it. `unbuffered` says what makes its output come at once, if its words do."""

    words: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    unbuffered: str = ""
    every: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be started, and what it needs; None or empty means that nothing was said. Paths are those of
    the place, and may be relative to `cwd`."""

    command: Command = field(default_factory=Command)
    cwd: str | None = None
    workers: int | None = None
    gpu_ids: tuple[str, ...] | None = None
    gpu_memory: int | None = None
    batch_size: int | None = None
    memory_per_item: int | None = None
    inputs: tuple[str, ...] = ()
    output_dir: str | None = None
    log_dir: str | None = None
    checkpoint_dir: str | None = None
    log_pattern: str = "worker_*.log"
    checkpoint_pattern: str = "checkpoint*"
    checkpoint_every: str | None = None
    resume: bool = False
    packages: tuple[str, ...] = ()
    try_import: bool = False
    environment: str | None = None
    variables: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    network: tuple[str, ...] = ()
    core_dumps: bool | None = None
    signals: tuple[str, ...] = ()
    slurm: str | None = None
    progress_patterns: Mapping[str, str] = field(default_factory=dict)
    error_patterns: tuple[tuple[str, str], ...] = ()
    source: str = ""
    profile: Profile | None = None

    def directories(self) -> dict[str, str]:
        """The directories that it will write to, by what they are for."""
        named = {"output": self.output_dir, "log": self.log_dir, "checkpoint": self.checkpoint_dir}
        return {what: path for what, path in named.items() if path is not None}

    def wants_gpus(self) -> bool:
        said = (self.gpu_ids, self.gpu_memory, self.batch_size, self.memory_per_item)
        return any(one is not None for one in said)

    def call(self, seconds: float, environment: Mapping[str, str] | None) -> JsonObject:
        """The question about it, as the extra probe takes it."""
        checkpoints = self.checkpoint_dir or self.output_dir
        return {
            "seconds": seconds,
            "env": None if environment is None else dict(environment),
            "set": {**self.set, **self.command.set},
            "cwd": self.cwd,
            "words": list(self.command.words),
            "signals": list(self.signals),
            "modules": list(self.packages),
            "try": self.try_import,
            "variables": list(self.variables),
            "shown": ["PYTHONUNBUFFERED", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_VISIBLE_DEVICES"],
            "gpus": self.slurm is None,
            "directories": sorted(set(self.directories().values())),
            "inputs": list(self.inputs),
            "network": list(self.network),
            "logs": os.path.join(self.log_dir, self.log_pattern) if self._has_patterns() and self.log_dir else None,
            "checkpoints": os.path.join(checkpoints, self.checkpoint_pattern) if self.resume and checkpoints else None,
            "slurm": self.slurm,
        }

    def _has_patterns(self) -> bool:
        return bool(self.progress_patterns or self.error_patterns)


def size_of(text: str, what: str) -> int:
    """Bytes from 24G, 24GB or 24GiB; the letter alone and GiB are powers of 1024, as memory is counted."""
    found = _SIZE.fullmatch(text.strip())
    if not found or float(found[1]) <= 0:
        raise UsageError(f"{what} takes a size such as 40GB or 512MiB, not '{plain(text, 40)}'")
    decimal = bool(found[2]) and not found[3] and text.strip().lower().endswith("b")
    return int(float(found[1]) * (1000 if decimal else 1024) ** _POWERS[(found[2] or "").lower()])


def target(text: str, what: str) -> str:
    """HOST:PORT, checked."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536 or any(ord(char) <= 32 for char in text):
        raise UsageError(f"{what} takes HOST:PORT, not '{plain(text, 80)}'")
    return text


def signal_name(text: str, what: str) -> str:
    """USR1 of USR1 or SIGUSR1."""
    name = text.upper().removeprefix("SIG")
    if not re.fullmatch(r"[A-Z][A-Z0-9]{1,8}", name):
        raise UsageError(f"{what} takes the name of a signal such as TERM or USR1, not '{plain(text, 40)}'")
    return name


def understood(argv: Sequence[str]) -> Command:
    """A command by its words: what starts it taken off, what it sets for itself taken in."""
    words, given, unbuffered = list(argv), {}, ""
    while words and (name := os.path.basename(words[0])) in _WRAPPERS:
        skip, valued = _WRAPPERS[name]
        rest = words[1:]
        while rest and (rest[0].startswith("-") or (name == "env" and _ASSIGNMENT.fullmatch(rest[0]))):
            if found := _ASSIGNMENT.fullmatch(rest[0]):
                given[found[1]] = found[2]
            if name == "stdbuf" and re.fullmatch(r"-o[L0]|--output=[L0]", rest[0]):
                unbuffered = f"stdbuf {rest[0]}"
            if name == "stdbuf" and rest[0] == "-o" and rest[1:2] in (["L"], ["0"]):
                unbuffered = f"stdbuf -o {rest[1]}"
            rest = rest[2:] if rest[0] in valued else rest[1:]
        words = rest[skip:]
    return Command(tuple(words), given, unbuffered, _every(words))


def _every(words: Sequence[str]) -> tuple[str, str] | None:
    """The option that says how often it saves, and its value."""
    for at, word in enumerate(words):
        name, mark, value = word.partition("=")
        option = name if name.startswith("-") else f"--{name}" if mark else ""
        if option and _EVERY.fullmatch(option):
            return name, value if mark else next(iter(words[at + 1 : at + 2]), "")
    return None
