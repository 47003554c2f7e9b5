"""Launch: turn a command into a run directory (the intent), and then into a supervisor and its workers.

`prepare` writes the intent, the caller registers the job, `start` acts; a crash between any two of them
leaves at most a run that never began. A run is claimed once, by whoever creates its supervisor.json first:
the supervisor, or `discard`. Whoever may still start it holds a shared lock on its directory, so that one
without a supervisor and without a lock is known to have been abandoned.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import re
import secrets
import stat
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from dogwatch import remote
from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, DogwatchError, UsageError

MOST_WORKERS = 1024
START_DEADLINE = 20.0
DEADLINE_PER_WORKER = 0.05  # two fsyncs each on a slow disk
_OURS = frozenset({"DOGWATCH_WORKER", "DOGWATCH_WORKERS", "DOGWATCH_RUN", "DOGWATCH_PROGRESS"})
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GPU = re.compile(r"[A-Za-z0-9_.:/,-]{1,200}")
_CLAIM, _SPEC = "supervisor.json", "spec.json"
_INTENT = frozenset({_SPEC, f"{_SPEC}.tmp"})
OLD = 3600.0
MOST_SWEPT, MOST_LOOKED_AT = 100, 10_000
# What a run writes before its program does: refused beforehand rather than stuck half-way.
_ROOM, _ROOM_PER_WORKER, _INODES, _INODES_PER_WORKER = 256 << 10, 32 << 10, 6, 5


class LaunchFailed(DogwatchError):
    """The run could not be written or started; whether anything runs, `discard` decides."""

    exit_code = ENDED_BADLY


class RunNotWritten(LaunchFailed):
    """The run's directory could not be made or written; nothing was started."""

    exit_code = COULD_NOT_POLL


class LaunchUnclear(LaunchFailed):
    """The supervisor did not report in time: it may still start the workers, unless `discard` comes first."""

    exit_code = COULD_NOT_POLL


class AlreadyStarted(DogwatchError):
    """The run has a supervisor, or had one: it is neither started again nor thrown away."""


class RunSpec(TypedDict):
    """What the supervisor is to start; `gpus` has one entry per worker."""

    argv: list[str]
    program: str
    cwd: str
    env: dict[str, str]
    workers: int
    gpus: list[str] | None
    wake: str
    created: float
    umask: NotRequired[int]


class WrittenRun(RunSpec):
    """The spec as it lies in the run's directory."""

    run: str
    directory: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is written down; `logs` has one path per worker, `lock` is its directory, held while it may start."""

    id: str
    directory: str
    logs: tuple[str, ...]
    lock: int | None = field(default=None, compare=False)

    @property
    def progress(self) -> tuple[str, ...]:
        """Per worker the file in which it may say how far it is; the supervisor names it in DOGWATCH_PROGRESS."""
        return tuple(f"{self.directory}/worker-{k}.progress" for k in range(len(self.logs)))


@dataclass(frozen=True, slots=True)
class Started:
    """What the supervisor reported: a pid per worker, or None where `errors` says why it could not be started."""

    supervisor_pid: int
    worker_pids: tuple[int | None, ...]
    errors: Mapping[int, str] = field(default_factory=dict)


def prepare(
    home: str,
    name: str,
    argv: Sequence[str],
    *,
    workers: int,
    gpus: Sequence[str] | None,
    env: Iterable[str],
    cwd: str | None,
    now: float,
    token: str | None = None,
    umask: int | None = None,
) -> Run:
    """Check everything, then write the run directory with its spec; nothing is written for a bad request.

    `env` holds KEY=VALUE words; `umask` is the user's own, for a caller that has changed its umask.
    """
    if not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"--workers must be between 1 and {MOST_WORKERS}, not {workers}.")
    words = _checked_argv(argv)
    added = _checked_env(env)
    shares = _checked_gpus(gpus, workers, added)
    place = _checked_cwd(cwd)
    spec: RunSpec = {
        "argv": [_portable(word, "the command") for word in words],
        "program": _portable(_find_program(words[0], place, added), "the program"),
        "cwd": _portable(place, "--cwd"),
        "env": {key: _portable(value, f"--env {key}") for key, value in added.items()},
        "workers": workers,
        "gpus": shares,
        "wake": _portable(os.path.join(os.path.abspath(home), "wake"), "the home"),
        "created": now,
    }
    if umask is not None:
        spec["umask"] = umask
    _insist_on_room(home, workers)
    return _write_run(os.path.join(os.path.abspath(home), "runs"), _slug(name, words[0]), token, spec)


def start(run: Run) -> Started:
    """Start the supervisor and wait until every worker has a start record.

    When it raises, call `discard`: either it removes the run, and then nothing ran or ever will, or it
    raises AlreadyStarted, and then the run's own records tell the truth.
    """
    if os.path.lexists(os.path.join(run.directory, _CLAIM)):
        raise AlreadyStarted(f"The run {run.id} was already started; give the command again for a new run.")
    command = [sys.executable, "-I", "-S", remote.SUPERVISOR, run.directory]
    try:
        first = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=() if run.lock is None else (run.lock,),
        )
    except OSError as why:
        raise LaunchFailed(f"The supervisor of {run.id} cannot be started: {why.strerror or why}.") from why
    timeout = START_DEADLINE + DEADLINE_PER_WORKER * len(run.logs)
    try:
        out, err = first.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as why:
        first.kill()
        first.wait()
        raise LaunchUnclear(
            f"The supervisor of {run.id} did not report within {timeout:.0f} s; see {run.directory}/supervisor.log."
        ) from why
    return _take_report(run, out, err)


def discard(run: Run) -> None:
    """Remove a run that was never started; a supervisor that comes later finds the claim taken and leaves."""
    with discarding(run):
        pass


@contextlib.contextmanager
def discarding(run: Run) -> Iterator[None]:
    """Claim a run that was never started, so that no supervisor can, and remove it at the end of the block; a
    block that fails leaves the run as it was."""
    claim = os.path.join(run.directory, _CLAIM)
    try:
        # A link and not a new file: a disk without inodes must not keep a run from being taken back.
        os.link(os.path.join(run.directory, _SPEC), claim, follow_symlinks=False)
    except FileExistsError as why:
        raise AlreadyStarted(f"The run {run.id} was started and is not thrown away.") from why
    except FileNotFoundError:  # without a spec no supervisor starts anything
        if os.path.lexists(claim):
            raise AlreadyStarted(f"The run {run.id} was started and is not thrown away.") from None
    try:
        yield
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(claim)
        raise
    _remove(run.directory, claim)


def _remove(directory: str, claim: str) -> None:
    """The claim goes last, so that a run which is half removed still cannot be started."""
    with contextlib.suppress(FileNotFoundError):
        for entry in sorted(os.listdir(directory), key=lambda name: name == os.path.basename(claim)):
            os.unlink(os.path.join(directory, entry))
        os.rmdir(directory)


def sweep(home: str, registered: Callable[[], Collection[str]], now: float) -> list[str]:
    """Remove the runs that were written down and neither registered nor started, because whoever did so was killed;
    the ids of those that went. Only what is ours, old, unlocked and just an intent is touched."""
    gone: list[str] = []
    with contextlib.suppress(OSError):  # a broken disk has its own alarm, and a directory too many is none
        with os.scandir(os.path.join(os.path.abspath(home), "runs")) as entries:
            old = [entry for entry in itertools.islice(entries, MOST_LOOKED_AT) if _is_abandoned(entry, now)]
        kept = registered() if old else ()
        for entry in [entry for entry in old if entry.name not in kept][:MOST_SWEPT]:
            with contextlib.suppress(AlreadyStarted):
                discard(Run(entry.name, entry.path, ()))
                gone.append(entry.name)
    return gone


def _is_abandoned(entry: os.DirEntry[str], now: float) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not ours or now - found.st_mtime < OLD or not set(os.listdir(entry.path)) <= _INTENT:
            return False
        lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _lock(directory: str) -> int | None:
    """The run's directory, open and locked; it stays so until this process ends, and its supervisor has one too."""
    try:
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_SH)
    except OSError:  # then a death of ours between registering and starting cannot be told, and that is all
        return None
    return lock


def _take_report(run: Run, out: bytes, err: bytes) -> Started:
    try:
        report = json.loads(out)
    except ValueError:
        report = None
    if not isinstance(report, dict):
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it printed nothing"]
        raise LaunchUnclear(f"The supervisor of {run.id} ended without a report: {last[0][:200]}.")
    if "error" in report:
        raise LaunchFailed(f"The run {run.id} did not start: {report['error']}.")
    return Started(
        supervisor_pid=report["supervisor"],
        worker_pids=tuple(report["workers"]),
        errors={int(index): why for index, why in report["errors"].items()},
    )


def _slug(name: str, program: str) -> str:
    for text in (name, os.path.basename(program)):
        slug = re.sub(r"[^a-z0-9_-]+", "-", text.lower())[:40].strip("-")
        if slug:
            return slug
    return "run"


def _insist_on_room(home: str, workers: int) -> None:
    disk = os.statvfs(home)
    room = disk.f_bavail * disk.f_frsize >= _ROOM + _ROOM_PER_WORKER * workers
    inodes = not disk.f_files or disk.f_favail >= _INODES + _INODES_PER_WORKER * workers
    if not room or not inodes:
        what = "inodes" if room else "room"
        raise RunNotWritten(f"There is no {what} left for a run on the disk of {home}: free some; nothing was started.")


def _write_run(runs: str, slug: str, token: str | None, spec: RunSpec) -> Run:
    run_id = f"{slug}-{token or secrets.token_hex(3)}"
    directory = os.path.join(runs, run_id)
    try:
        os.makedirs(runs, mode=0o700, exist_ok=True)
        os.mkdir(directory, mode=0o700)
    except FileExistsError as why:
        raise LaunchFailed(f"A run {run_id} is already there; give the command again.") from why
    except OSError as why:
        raise RunNotWritten(f"The run directory {directory} cannot be made: {why.strerror}.") from why
    logs = tuple(f"{directory}/worker-{k}.log" for k in range(spec["workers"]))
    run = Run(run_id, directory, logs, _lock(directory))
    try:
        _write_durably(directory, _SPEC, {"run": run_id, "directory": _portable(directory, "the home"), **spec})
        _sync_directory(runs)
    except OSError as why:
        _discard_quietly(run)
        raise RunNotWritten(f"{directory}/spec.json cannot be written: {why.strerror}.") from why
    return run


def _discard_quietly(run: Run) -> None:
    """Remove what is left of a run that could not be written; the disk may refuse this as well."""
    with contextlib.suppress(OSError):
        discard(run)


def _write_durably(directory: str, name: str, document: WrittenRun) -> None:
    path = os.path.join(directory, name)
    fd = os.open(f"{path}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        file.write(json.dumps(document, sort_keys=True).encode("ascii") + b"\n")
        file.flush()
        os.fsync(fd)
    os.rename(f"{path}.tmp", path)
    _sync_directory(directory)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _portable(text: str, where: str) -> str:
    """The same bytes as UTF-8 text: the supervisor's interpreter may have been started in another locale."""
    try:
        return os.fsencode(text).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError as why:
        raise UsageError(f"{where} holds a character that no program can be given: {text!r}.") from why


def _checked_argv(argv: Sequence[str]) -> list[str]:
    words = list(argv)
    if not words or not words[0]:
        raise UsageError("There is no command to run; give one after --: dogwatch run -- python train.py.")
    for word in words:
        if "\0" in word:
            raise UsageError(f"The command holds a NUL byte, which no program can be given: {word!r}.")
    return words


def _checked_env(env: Iterable[str]) -> dict[str, str]:
    added = {}
    for word in env:
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--env {word!r} has no '='; write it as KEY=VALUE.")
        if not _KEY.fullmatch(key):
            raise UsageError(f"--env {word!r} has no usable name before '='; use letters, digits and _.")
        if key in _OURS:
            raise UsageError(f"--env {key} is set by Dogwatch for every worker and cannot be given.")
        if "\0" in value:
            raise UsageError(f"--env {key} holds a NUL byte, which no program can be given.")
        added[key] = value
    return added


def _checked_gpus(gpus: Sequence[str] | None, workers: int, added: Mapping[str, str]) -> list[str] | None:
    if not gpus:
        return None
    for gpu in gpus:
        if not _GPU.fullmatch(gpu):
            raise UsageError(f"--gpu-ids has {gpu!r}, which is not a GPU id; write them as 0,1,2.")
    if "CUDA_VISIBLE_DEVICES" in added:
        raise UsageError("--gpu-ids and --env CUDA_VISIBLE_DEVICES say the same thing; give one of them.")
    if workers == 1:
        return [",".join(gpus)]
    if len(gpus) != workers:
        raise UsageError(f"--gpu-ids names {len(gpus)} GPUs for {workers} workers; give one id per worker.")
    return list(gpus)


def _checked_cwd(cwd: str | None) -> str:
    if cwd is not None and "\0" in cwd:
        raise UsageError(f"--cwd holds a NUL byte: {cwd!r}.")
    try:
        place = os.path.abspath(cwd if cwd is not None else os.getcwd())
    except FileNotFoundError as why:
        raise UsageError("The current directory no longer exists; give --cwd.") from why
    if not os.path.isdir(place):
        raise UsageError(f"--cwd {place} is not a directory; create it or give another.")
    if not os.access(place, os.X_OK):
        raise UsageError(f"--cwd {place} may not be entered by this user.")
    return place


def _find_program(program: str, cwd: str, added: Mapping[str, str]) -> str:
    """The absolute path that a shell in `cwd` with the workers' PATH would run."""
    if "/" in program:
        candidates = [os.path.join(cwd, program)]
        where = "" if os.path.isabs(program) else f" in {cwd}"
    else:
        path = added.get("PATH", os.environ.get("PATH", os.defpath))
        candidates = [os.path.join(cwd, entry, program) for entry in path.split(os.pathsep)]
        where = f" in PATH ({path})"
    files = [each for each in candidates if os.path.isfile(each)]
    for each in files:
        if os.access(each, os.X_OK):
            return each
    if files:
        raise UsageError(f"The program {files[0]} is not executable; chmod +x it or name its interpreter.")
    if "/" in program and os.path.isdir(candidates[0]):
        raise UsageError(f"The program {candidates[0]} is a directory.")
    raise UsageError(f"The program {program!r} was not found{where}.")
