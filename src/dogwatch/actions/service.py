"""Recurring polls: the system (systemd or cron) starts `dogwatch service tick` now and then, so that watching survives
logout and reboot.

Whether a timer is on is read from the crontab and the unit files themselves, so it is never set up twice, and never
reported as off while it is on. A crontab that cannot be read is never written.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dogwatch.digest import sha256
from dogwatch.errors import COULD_NOT_POLL, DogwatchError, UsageError
from dogwatch.programs import find_program

SHORTEST, LONGEST = 60.0, 86400.0
LOG, LAST = "service.log", "service.json"
LARGEST_LOG = 512 << 10
DEADLINE = 15.0
LONGEST_LINE = 900  # cron cuts a command at 998 characters
_CRON_DAEMONS = frozenset({"cron", "crond", "fcron"})
_LINGER = "/var/lib/systemd/linger"


class ServiceFailed(DogwatchError):
    """The system's own scheduler does not do as asked; what it said is in the message."""

    exit_code = COULD_NOT_POLL


@dataclass(frozen=True, slots=True)
class Kept:
    """What is there: by whom it is started, how often, and the text that says so."""

    by: str
    every: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be made: `by` cron, one block of lines; by systemd, files and the commands that enable them."""

    home: str
    by: str
    every: float
    files: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]
    block: str = ""

    def shown(self) -> str:
        """All of it, as a person reads it before saying yes."""
        if self.by == "cron":
            return f"these lines in your crontab, with {find_program('crontab') or 'crontab'}:\n{self.block}"
        files = "".join(f"{path}:\n{text}\n" for path, text in self.files.items())
        return files + "".join(f"$ {shlex.join(command)}\n" for command in self.commands)


def tag(home: str) -> str:
    """What marks the entries of one home, by whatever way it is reached, so that each finds just its own."""
    return sha256(os.fsencode(os.path.realpath(home))).hex()[:8]


def command(home: str) -> list[str]:
    """What is started. No shell syntax but quoting, because SHELL in a crontab may be any; -P and -E,
    because neither the folder it is started in nor PYTHONPATH may lend it modules."""
    return [
        "/usr/bin/env",
        f"DOGWATCH_HOME={os.path.realpath(home)}",
        sys.executable,
        "-E",
        "-P",
        "-m",
        "dogwatch",
        "service",
        "tick",
    ]


def plan(home: str, every: float) -> Plan:
    """The best way this system has: units where the user's systemd runs also without a login, else cron."""
    _check(home, every)
    if systemd_works() and _lingers():
        return systemd_plan(home, every)
    if find_program("crontab"):
        _crontab()
        return cron_plan(home, every)
    if systemd_works():
        raise UsageError(
            "your systemd units stop when you log out, and there is no crontab here: `loginctl enable-linger` lets "
            "them run on, or --print shows the command for a scheduler of your own"
        )
    raise UsageError("there is neither a systemd for users nor a crontab here; --print shows the command to schedule")


def cron_plan(home: str, every: float) -> Plan:
    fields, real = cron_schedule(every, int(tag(home), 16))
    line = f"{fields} {shlex.join(command(home))}".replace("%", r"\%")
    if len(line) > LONGEST_LINE:
        raise UsageError(
            f"the command is too long for a crontab line: move DOGWATCH_HOME to a shorter path than {home}"
        )
    begin, end = _marks(home)
    block = f"{begin} every {real:g} s; `dogwatch service off` removes these three lines\n{line}\n{end}\n"
    return Plan(home, "cron", real, {}, (), block)


def systemd_plan(home: str, every: float) -> Plan:
    name, folder = f"dogwatch-keep-{tag(home)}", _unit_folder()
    service = (
        f"[Unit]\nDescription=Dogwatch looks once at every watched job\n\n[Service]\nType=oneshot\n"
        f"ExecStart={' '.join(_unit_word(word) for word in command(home))}\nNice=5\n"
    )
    timer = (
        f"[Unit]\nDescription=Dogwatch looks every {every:g} s, until nothing is left to watch\n\n"
        f"[Timer]\nOnStartupSec=60\nOnUnitActiveSec={every:g}\nAccuracySec={min(60.0, every / 10):g}\n\n"
        f"[Install]\nWantedBy=timers.target\n"
    )
    files = {os.path.join(folder, f"{name}.service"): service, os.path.join(folder, f"{name}.timer"): timer}
    tell = ("systemctl", "--user")
    return Plan(home, "systemd", every, files, ((*tell, "daemon-reload"), (*tell, "enable", "--now", f"{name}.timer")))


def cron_schedule(every: float, spread: int = 0) -> tuple[str, float]:
    """Cron's five fields and what they amount to: the longest even interval it can say that is not longer.
    `spread` moves the minute, so that not all the world looks at a cluster at the full hour."""
    minutes = int(every // 60)
    if minutes < 60:
        step = max(n for n in range(1, 61) if 60 % n == 0 and n <= minutes)
        first = "*" if step == 1 else f"{spread % step}-59/{step}"
        return f"{first} * * * *", step * 60.0
    hours = max(n for n in range(1, 25) if 24 % n == 0 and n * 60 <= minutes)
    when = "*" if hours == 1 else f"*/{hours}" if hours < 24 else "0"
    return f"{spread % 60} {when} * * *", hours * 3600.0


def found(home: str) -> Kept | None:
    """What is on for this home, if anything is."""
    if find_program("crontab"):
        inside = _split(_crontab(), home)[1]
        if inside:
            every = re.search(r" every (\d+) s;", inside)
            return Kept("cron", float(every[1]) if every else None, inside)
    timer = _unit_files(home)[1]
    if os.path.lexists(timer):
        with contextlib.suppress(OSError), open(timer, encoding="utf-8") as file:
            text = file.read()
            every = re.search(r"^OnUnitActiveSec=(\d+)$", text, re.M)
            return Kept("systemd", float(every[1]) if every else None, f"{timer}:\n{text}")
        return Kept("systemd", None, timer)
    return None


def install(made: Plan) -> None:
    """Make what the plan says, in place of whatever was on for this home."""
    with locked(made.home):
        _remove(made.home)
        if made.by == "cron":
            _write_crontab(lambda text: text + ("\n" if text and not text.endswith("\n") else "") + made.block)
            return
        os.makedirs(_unit_folder(), exist_ok=True)
        for path, text in made.files.items():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "w") as file:
                file.write(text)
        for words in made.commands:
            _insist(words)


def remove(home: str, unless: Callable[[], bool] = lambda: False) -> Kept | None:
    """Take away just what was made for this home, and say what that was; `unless` is asked when nobody else can
    make or remove it any more, so that a job added meanwhile is not left alone."""
    with locked(home):
        return None if unless() else _remove(home)


def systemd_works() -> bool:
    """Whether a systemd for this user answers, not merely whether its program is installed."""
    if not find_program("systemctl"):
        return False
    try:
        _, out, _ = _run(("systemctl", "--user", "is-system-running"))
    except ServiceFailed:
        return False
    return out.strip() in ("running", "degraded", "starting")


def cron_runs() -> bool | None:
    """Whether a cron daemon is to be seen among the processes; None where those of others are hidden."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            if file.read().strip() in _CRON_DAEMONS:
                return True
    return False if os.path.exists("/proc/1/comm") else None


@contextlib.contextmanager
def alone(home: str) -> Iterator[bool]:
    """Whether no other tick of this home is under way; holds that off until the end of the block."""
    with _lock_file(home, "service.tick.lock") as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextlib.contextmanager
def locked(home: str) -> Iterator[None]:
    """One hand at a time; a home that is gone has nothing left to guard."""
    if not os.path.isdir(home):
        yield
        return
    with _lock_file(home, "service.lock") as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def write_to_log(home: str) -> None:
    """From here on, what this process prints goes to the log in the home, which is kept within bounds."""
    path = os.path.join(home, LOG)
    with contextlib.suppress(FileNotFoundError):
        if os.stat(path, follow_symlinks=False).st_size > LARGEST_LOG:
            os.replace(path, f"{path}.1")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if stat.S_IMODE(os.fstat(fd).st_mode) != 0o600:
        os.fchmod(fd, 0o600)
    sys.stdout.flush()
    for number in (1, 2):
        os.dup2(fd, number)
    os.close(fd)


def ran(home: str, at: float, code: int) -> None:
    """Note when it last ran and how that went."""
    path = os.path.join(home, LAST)
    with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        json.dump({"at": at, "code": code}, file)
    os.replace(f"{path}.new", path)


def last_run(home: str) -> tuple[float, int] | None:
    """When it last ran, and its exit code."""
    try:
        with open(os.path.join(home, LAST), encoding="utf-8") as file:
            told: Any = json.load(file)
        return float(told["at"]), int(told["code"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def span(seconds: float | None) -> str:
    """15m, 1d: an interval as `--every` takes it."""
    if seconds is None:
        return "unknown time"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def _check(home: str, every: float) -> None:
    if not SHORTEST <= every <= LONGEST:
        raise UsageError("--every must be between 1m and 1d")
    for what, text in (("DOGWATCH_HOME", home), ("the path of Python", sys.executable)):
        if not text.isprintable() or not os.path.isabs(text):
            raise UsageError(f"{what} cannot be written into a schedule: {text!r}")


def _remove(home: str) -> Kept | None:
    there = found(home)
    if there is None:
        return None
    if there.by == "cron":
        _write_crontab(lambda text: "".join(_split(text, home)[::2]))
        return there
    service, timer = _unit_files(home)
    if systemd_works():
        _run(("systemctl", "--user", "disable", "--now", os.path.basename(timer)))
    for path in (timer, service):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    if systemd_works():
        _run(("systemctl", "--user", "daemon-reload"))
    return there


def _marks(home: str) -> tuple[str, str]:
    return f"# dogwatch service {tag(home)} begin:", f"# dogwatch service {tag(home)} end"


def _split(text: str, home: str) -> tuple[str, str, str]:
    """A crontab before, in and after the lines of this home."""
    begin, end = _marks(home)
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if line.startswith(begin)]
    ends = [at for at, line in enumerate(lines) if line.rstrip() == end]
    if not starts and not ends:
        return text, "", ""
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        raise ServiceFailed(
            f"the marks of Dogwatch in your crontab were edited: remove every line between and with "
            f"'{begin}' and '{end}' by `crontab -e`"
        )
    return "".join(lines[: starts[0]]), "".join(lines[starts[0] : ends[0] + 1]), "".join(lines[ends[0] + 1 :])


def _crontab() -> str:
    """The user's crontab; only the one sentence that says there is none counts as empty."""
    code, out, err = _run(("crontab", "-l"))
    if code == 0:
        return out
    if not out and "no crontab for" in err.lower():
        return ""
    raise ServiceFailed(f"your crontab cannot be read, so nothing was changed: {_last_line(err)}")


def _write_crontab(edit: Callable[[str], str]) -> None:
    """Replace the crontab, and read it again: what is not there now was not taken."""
    text = edit(_crontab())
    code, _, err = _run(("crontab", "-"), text) if text.strip() else _run(("crontab", "-r"))
    if code != 0 or _crontab().rstrip("\n") != text.rstrip("\n"):
        raise ServiceFailed(f"crontab did not take the change: {_last_line(err)}")


def _unit_folder() -> str:
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(config, "systemd", "user")


def _unit_files(home: str) -> tuple[str, str]:
    name = os.path.join(_unit_folder(), f"dogwatch-keep-{tag(home)}")
    return f"{name}.service", f"{name}.timer"


def _unit_word(word: str) -> str:
    """One word of ExecStart=: % and $ have a meaning there, also inside quotes."""
    for char, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(char, written)
    return f'"{word}"'


def _lingers() -> bool:
    return os.path.exists(os.path.join(_LINGER, pwd.getpwuid(os.getuid()).pw_name))


@contextlib.contextmanager
def _lock_file(home: str, name: str) -> Iterator[int]:
    fd = os.open(os.path.join(home, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def _insist(words: Sequence[str]) -> None:
    code, _, err = _run(words)
    if code != 0:
        raise ServiceFailed(
            f"`{shlex.join(words)}` failed: {_last_line(err)}; `dogwatch service off` removes what was made"
        )


def _run(words: Sequence[str], text: str | None = None) -> tuple[int, str, str]:
    program = find_program(words[0])
    if program is None:
        raise ServiceFailed(f"there is no {words[0]} on this system that only root or you can write")
    environment = {**os.environ, "PATH": _path(), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *words[1:]],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=DEADLINE,
            env=environment,
            input=text or "",
        )
    except subprocess.TimeoutExpired:
        raise ServiceFailed(f"`{shlex.join(words)}` did not answer within {DEADLINE:g} s") from None
    except OSError as error:
        raise ServiceFailed(f"`{shlex.join(words)}` cannot be run: {error.strerror}") from None
    return done.returncode, done.stdout, done.stderr


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/bin", "/bin", "/usr/sbin", "/sbin"]).lstrip(os.pathsep)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it gave no reason"])[-1][:200]
