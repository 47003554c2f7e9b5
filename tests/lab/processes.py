"""Processes without systemd: each is remembered by pid and start time, and ended by pid, with all its descendants."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.support import wait_until

PATIENCE = 120.0  # seconds that a tear-down waits for: a busy machine needs long to let go of what was killed
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The process joins the laboratory's cgroup before it becomes what it is, so that no child of it can escape.
_BECOME = 'echo $$ >"$1/cgroup.procs"; log=$2; shift 2; exec "$@" </dev/null >>"$log" 2>&1'
_BECOME_BARE = 'log=$2; shift 2; exec "$@" </dev/null >>"$log" 2>&1'


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def stat(pid: int) -> tuple[str, int, int] | None:
    """State letter, parent and start time; None when the process is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else (fields[0], int(fields[1]), int(fields[19]))


def start_time(pid: int) -> int | None:
    known = stat(pid)
    return known[2] if known else None


def parent(pid: int) -> int:
    known = stat(pid)
    return known[1] if known else 0


def is_gone(pid: int, start: int) -> bool:
    """Also reaps it if it is a child of ours: a zombie would keep its pid."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return start_time(pid) != start


def descendants(roots: set[int]) -> set[int]:
    """The pids below `roots`, as /proc tells them now."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        known = stat(int(entry)) if entry.isdigit() else None
        if known:
            children.setdefault(known[1], []).append(int(entry))
    found: set[int] = set()
    todo = list(roots)
    while todo:
        below = [child for child in children.get(todo.pop(), []) if child not in found]
        found.update(below)
        todo.extend(below)
    return found


class Cgroup:
    """A cgroup that holds every process of the laboratory, also those that lost their parents; may be missing."""

    def __init__(self, name: str) -> None:
        self.path = next((mount / name for mount in self._mounts()), None)

    @staticmethod
    def _mounts() -> Iterator[Path]:
        """Hierarchies that only group: the unified one, or in the old layout the one that counts processes."""
        mounts = [line.split()[1:4] for line in Path("/proc/mounts").read_text().splitlines()]
        for kind, option in (("cgroup2", ""), ("cgroup", "pids")):
            for where, found, options in mounts:
                words = options.split(",")
                if found == kind and "rw" in words and (not option or option in words):
                    yield Path(where)

    def make(self) -> None:
        if self.path:
            try:
                self.path.mkdir(exist_ok=True)
            except OSError:
                self.path = None

    def pids(self) -> set[int]:
        if not self.path or not self.path.is_dir():
            return set()
        lists = [self.path / "cgroup.procs", *self.path.glob("**/cgroup.procs")]
        return {int(pid) for path in lists for pid in path.read_text().split()}

    def remove(self) -> None:
        if self.path:
            remove_cgroup(self.path)


def remove_cgroup(path: Path) -> None:
    """Remove an empty cgroup and those below it; the kernel may need a moment after the last process."""

    def tried() -> bool:
        for root, _, _ in os.walk(path, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(root)
        return not path.exists()

    wait_until(tried, timeout=PATIENCE)


class Processes:
    """The processes of one laboratory, remembered in a directory so that any later program can end them."""

    def __init__(self, records: Path, logs: Path) -> None:
        self.records = records
        self.logs = logs
        self.cgroup = Cgroup("dogwatch-lab")

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
        """Start a daemon in a session of its own, its words in logs/NAME.out; return its pid."""
        joined = bool(self.cgroup.path and self.cgroup.path.is_dir())
        script = _BECOME if joined else _BECOME_BARE
        command = ["/bin/sh", "-c", script, "sh", str(self.cgroup.path), str(self.logs / f"{name}.out"), *argv]
        environment = {"PATH": PATH, "LANG": "C.UTF-8", **(env or {})}
        pid = os.posix_spawn(command[0], command, environment, setsid=True)
        record = {"pid": pid, "start": start_time(pid), "boot": boot_id(), "argv": list(argv)}
        (self.records / f"{name}.json").write_text(json.dumps(record))
        return pid

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.records.glob("*.json"))

    def find(self, name: str) -> tuple[int, int] | None:
        """Pid and start time of a process that still lives."""
        try:
            known = json.loads((self.records / f"{name}.json").read_text())
        except (FileNotFoundError, ValueError):
            return None
        pid, start = known["pid"], known["start"]
        return (pid, start) if start and known["boot"] == boot_id() and start_time(pid) == start else None

    def lives(self, name: str) -> bool:
        return self.find(name) is not None

    def is_stopped(self, name: str) -> bool:
        found = self.find(name)
        known = stat(found[0]) if found else None
        return bool(known and known[0] in "tT")

    def send(self, name: str, number: int) -> None:
        found = self.find(name)
        if found is None:
            raise ProcessLookupError(f"{name} does not run; its words are in {self.logs / name}.out")
        os.kill(found[0], number)

    def end(self, name: str, number: int = signal.SIGKILL, timeout: float = 20) -> None:
        """Signal a process and wait until it is gone; one that is gone already is no error."""
        found = self.find(name)
        if found:
            os.kill(found[0], number)
            wait_until(partial(is_gone, *found), timeout=timeout)
        (self.records / f"{name}.json").unlink(missing_ok=True)

    def everyone(self) -> set[int]:
        """Everything the laboratory started, and what those started; never this program or its ancestors."""
        known = {found[0] for found in map(self.find, self.names()) if found} | self.cgroup.pids()
        return {pid for pid in known | descendants(known) if stat(pid)} - _lineage()

    def end_everyone(self, timeout: float = PATIENCE) -> None:
        """SIGKILL to everyone again and again until nobody is left, because the dying still start children."""
        limit = time.monotonic() + timeout
        while left := self.everyone():
            kill(left)
            if time.monotonic() > limit:
                raise TimeoutError(f"these processes of the laboratory cannot be ended: {sorted(left)}")
            time.sleep(0.02)
        for name in self.names():
            (self.records / f"{name}.json").unlink(missing_ok=True)


def kill(pids: set[int]) -> None:
    """SIGKILL, and reaping where they are our children."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _lineage() -> set[int]:
    pid, found = os.getpid(), set()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = parent(pid)
    return found
