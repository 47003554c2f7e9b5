"""What people ask of a chain, checked as a whole before anything is written or sent; a refusal names the flag."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dogwatch.api.expectations import directory, not_too_long
from dogwatch.errors import UsageError
from dogwatch.text import named, plain
from dogwatch.wire.chain import After, Chain, Stage

MOST_STAGES = 100
LONGEST_COMMAND = 65536
ON_REBOOT = ("leave", "resume")
DETACH = ("auto", "tmux", "setsid", "nohup", "sbatch")
ONLY_STAGE = "run"  # the name of the one stage of a command without --stage
_STAGE = re.compile(r"([^:\n]{1,80}):(?!//)(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_WORDS = re.compile(r"[\w. -]+")  # what could be meant as a name
_WAITS = re.compile(r"(file|line|run):(.+)", re.DOTALL)
_RUN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = frozenset({"DOGWATCH_RUN", "DOGWATCH_RUN_DIR", "DOGWATCH_STAGE", "DOGWATCH_ATTEMPT"})
_GPU = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainWanted:
    """A chain as people write it: `stages` as 'NAME: COMMAND', or one `command`. Without a `host` it is for this
    machine."""

    name: str | None = None
    stages: Sequence[str] = ()
    command: Sequence[str] = ()
    after: Sequence[str] = ()
    host: str | None = None
    cwd: str | None = None
    env: Sequence[str] = ()
    gpu_ids: Sequence[str] | None = None
    workers: int = 1
    on_reboot: str = "leave"
    resume_command: Sequence[str] = ()
    detach_with: str = "auto"
    sbatch: str | None = None
    push_way: str | None = field(default=None)


def chain(wanted: ChainWanted) -> Chain:
    """The chain that is meant."""
    if wanted.workers != 1:
        raise UsageError(
            "--workers starts copies on this machine and cannot be used with --on or --stage;"
            " start the copies in the command itself (torchrun, a loop with &)"
        )
    stages = _with_waits(_with_resume(_stages(wanted), wanted.resume_command), wanted.after)
    if wanted.sbatch is not None and wanted.detach_with != "sbatch":
        raise UsageError("--sbatch-options belong to --detach-with sbatch")
    if wanted.detach_with == "sbatch":
        _check_for_slurm(stages, wanted)
    name = wanted.name if wanted.name is not None else _default_name(wanted, stages)
    return Chain(
        named(name, "--name"),
        stages,
        cwd=_cwd(wanted),
        env=tuple(_environment(wanted).items()),
        on_reboot=wanted.on_reboot,
        detach=wanted.detach_with,
        sbatch=tuple(_words(wanted.sbatch, "--sbatch-options")) if wanted.sbatch else (),
        push_way=wanted.push_way,
    )


def slug(name: str) -> str:
    """A job's name as the beginning of the id of its run."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:40].strip("-_") or "run"


def _stages(wanted: ChainWanted) -> tuple[Stage, ...]:
    if wanted.stages and wanted.command:
        raise UsageError("give the work in one way: --stage 'NAME: COMMAND' (repeatable), or one command after --")
    if not wanted.stages:
        if not wanted.command or not wanted.command[0]:
            raise UsageError("there is nothing to run; give --stage 'NAME: COMMAND', or one command after --")
        return (Stage(ONLY_STAGE, _command(shlex.join(wanted.command), "the command")),)
    if len(wanted.stages) > MOST_STAGES:
        raise UsageError(f"a chain has at most {MOST_STAGES} stages, not {len(wanted.stages)}")
    stages = tuple(_stage(text, number) for number, text in enumerate(wanted.stages, 1))
    names = [stage.name for stage in stages]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two stages are named {name}; give each --stage a name of its own")
    return stages


def _stage(text: str, number: int) -> Stage:
    match = _STAGE.fullmatch(text)
    if match is None or not _WORDS.fullmatch(match[1]):
        return Stage(f"stage-{number}", _command(text, f"--stage number {number}"))
    name = match[1].strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{plain(name, 60)}' is not a name for a stage; use letters, digits and . _ - without spaces,"
            " as in --stage 'train: python train.py'"
        )
    return Stage(name, _command(match[2], f"--stage {name}"))


def _command(text: str, what: str) -> str:
    command = text.strip()
    if not command:
        raise UsageError(f"{what} has no command; write it as --stage 'NAME: COMMAND'")
    if "\0" in command:
        raise UsageError(f"{what} holds a NUL byte, which no shell can be given")
    if "\r" in command:
        raise UsageError(f"{what} holds a carriage return (a line end of Windows); remove it")
    if len(command.encode("utf-8", "surrogateescape")) > LONGEST_COMMAND:
        raise UsageError(f"{what} is longer than {LONGEST_COMMAND} bytes; put it into a script and run that")
    return _utf8(command, what)


def _utf8(text: str, what: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{what} holds a byte that is not UTF-8: {plain(text, 60)!r}") from None
    return text


def _with_resume(stages: tuple[Stage, ...], given: Sequence[str]) -> tuple[Stage, ...]:
    """`--resume-command 'CMD'` for the only stage, or 'NAME: CMD'."""
    by_name: dict[str, str] = {}
    names = [stage.name for stage in stages]
    for text in given:
        name, colon, rest = text.partition(":")
        if not colon or name.strip() not in names:
            if len(stages) > 1:
                raise UsageError(
                    f"--resume-command does not name a stage; write 'NAME: COMMAND' with one of {', '.join(names)}"
                )
            name, rest = names[0], text
        if name.strip() in by_name:
            raise UsageError(f"--resume-command is given twice for stage {name.strip()}")
        by_name[name.strip()] = _command(rest, "--resume-command")
    return tuple(Stage(one.name, one.command, one.after, by_name.get(one.name)) for one in stages)


def _with_waits(stages: tuple[Stage, ...], given: Sequence[str]) -> tuple[Stage, ...]:
    """`--after STAGE=file:PATH|line:TEXT|run:RUN`; without a stage, the first one waits."""
    names = [stage.name for stage in stages]
    waits: Mapping[str, list[After]] = {name: [] for name in names}
    for text in given:
        stage, equals, rest = text.partition("=")
        if not equals or _WAITS.match(text):
            stage, rest = names[0], text
        match = _WAITS.fullmatch(rest)
        if match is None:
            raise UsageError(f"--after {plain(text, 80)!r} is not STAGE=file:PATH, STAGE=line:TEXT or STAGE=run:RUN")
        if stage not in waits:
            raise UsageError(f"--after names the stage {plain(stage, 40)!r}; there is {', '.join(names)}")
        waits[stage].append(_wait(match[1], match[2], text))
    return tuple(Stage(one.name, one.command, tuple(waits[one.name]), one.resume_command) for one in stages)


def _wait(kind: str, what: str, text: str) -> After:
    if any(ord(char) < 32 or char == "\x7f" for char in what):
        raise UsageError(f"--after {plain(text, 80)!r} holds a control character")
    if kind == "run" and not what.startswith("/"):
        what = what.rpartition(":")[2]
        if not _RUN.fullmatch(what):
            raise UsageError(f"--after {plain(text, 80)!r}: give the id of a run, or its directory")
    return After(kind, not_too_long(_utf8(what, "--after"), "--after"))


def _check_for_slurm(stages: Sequence[Stage], wanted: ChainWanted) -> None:
    if any(stage.after for stage in stages):
        raise UsageError("--after cannot be used with --detach-with sbatch: a job that waits would hold its nodes")
    if wanted.on_reboot != "leave":
        raise UsageError(
            "--on-reboot is not for --detach-with sbatch: Slurm itself requeues jobs of a node that failed"
        )


def _cwd(wanted: ChainWanted) -> str:
    """Absolute here; on a box, absolute or from its home on."""
    if wanted.host is None:
        return _utf8(directory(wanted.cwd if wanted.cwd is not None else os.getcwd(), "--cwd"), "--cwd")
    given = (wanted.cwd or "").removeprefix("~/")
    if given == "~":
        given = ""
    if given.startswith("~") or any(ord(char) < 32 or char == "\x7f" for char in given):
        raise UsageError(
            f"--cwd takes a directory of {wanted.host}, absolute or from the home on, not '{plain(given, 80)}'"
        )
    return _utf8(not_too_long(given, "--cwd"), "--cwd").rstrip("/") or given


def _environment(wanted: ChainWanted) -> dict[str, str]:
    added = {}
    for word in wanted.env:
        key, equals, value = word.partition("=")
        if not equals or not _VARIABLE.fullmatch(key):
            raise UsageError(f"--env takes NAME=VALUE, not {plain(word, 60)!r}")
        if key in _OURS:
            raise UsageError(f"--env {key} is set by Dogwatch for every stage and cannot be given")
        if "\0" in value or "\r" in value:
            raise UsageError(f"--env {key} holds a NUL byte or a carriage return")
        added[key] = _utf8(value, f"--env {key}")
    gpus = [one for word in wanted.gpu_ids or () for one in word.split(",") if one]
    for gpu in gpus:
        if not _GPU.fullmatch(gpu):
            raise UsageError(f"--gpu-ids has {plain(gpu, 40)!r}, which is not a GPU id; write them as 0,1,2")
    if gpus and "CUDA_VISIBLE_DEVICES" in added:
        raise UsageError("--gpu-ids and --env CUDA_VISIBLE_DEVICES say the same thing; give one of them")
    return added | ({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {})


def _words(text: str, flag: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{flag} cannot be split into words: {error}") from None
    if any(not word.startswith("-") for word in words):
        raise UsageError(f"{flag} takes options of sbatch written with =, as in '--gres=gpu:1 --time=4:00:00'")
    if any(ord(char) < 32 for word in words for char in word):
        raise UsageError(f"{flag} holds a control character")
    return [_utf8(word, flag) for word in words]


def _default_name(wanted: ChainWanted, stages: Sequence[Stage]) -> str:
    return os.path.basename(wanted.command[0]) or ONLY_STAGE if wanted.command else stages[0].name
