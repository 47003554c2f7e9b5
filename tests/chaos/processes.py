"""Processes of the storm: every orphan comes to us, so that none can be left running unseen."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Be the parent of whatever a killed process of ours leaves behind."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class Call:
    """One start of the real program, with its output in files and perhaps a moment at which it is killed."""

    def __init__(
        self, words: Sequence[str], scratch: Path, number: int, env: Mapping[str, str], kill_after: float | None
    ) -> None:
        self.words = list(words)
        self.out, self.err = scratch / f"{number}.out", scratch / f"{number}.err"
        self.killed = False
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dogwatch", *words],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.kill_at = None if kill_after is None else time.monotonic() + kill_after

    @property
    def verb(self) -> str:
        return self.words[0]

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    @property
    def code(self) -> int:
        return int(self.process.returncode)

    @property
    def due(self) -> bool:
        return self.kill_at is not None and time.monotonic() >= self.kill_at

    def kill(self) -> bool:
        """SIGKILL; whether it really died of that and not a moment before."""
        self.process.kill()
        self.process.wait()
        self.killed = self.code == -signal.SIGKILL
        return self.killed

    def said(self) -> str:
        return self.err.read_text(encoding="utf-8", errors="replace")

    def printed(self) -> str:
        return self.out.read_text(encoding="utf-8", errors="replace")

    def tidy(self) -> None:
        self.out.unlink(missing_ok=True)
        self.err.unlink(missing_ok=True)


class Family:
    """Our own children by pid, told apart from the orphans that became our children."""

    def __init__(self) -> None:
        self.ours: dict[int, subprocess.Popen[bytes]] = {}

    def add(self, process: subprocess.Popen[bytes]) -> None:
        self.ours[process.pid] = process

    def reap(self) -> None:
        """Bury every child that has ended; the exit status of our own stays with its Popen."""
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            own = self.ours.pop(found.si_pid, None)
            if own is not None:
                own.poll()
            else:
                os.waitpid(found.si_pid, os.WNOHANG)


def children() -> dict[int, str]:
    """Every child of this process that has not ended, with its command line."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        for word in _text(task / "children").split():
            command = _text(Path(f"/proc/{word}/cmdline")).replace("\0", " ").strip()
            if command:
                found[int(word)] = command
    return found


def with_home(home: str) -> dict[int, str]:
    """Every process whose environment names this home, other than us."""
    mark = f"DOGWATCH_HOME={home}\0"
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and mark in _text(entry / "environ"):
            found[int(entry.name)] = _text(entry / "cmdline").replace("\0", " ").strip()
    return found


def kill_recorded(record: Path) -> bool:
    """SIGKILL the process that a record of the home names, if it is still that very process."""
    try:
        known = json.loads(record.read_text())
        pidfd = os.pidfd_open(known["pid"])
    except (OSError, ValueError, KeyError):
        return False
    try:
        fields = _text(Path(f"/proc/{known['pid']}/stat")).rpartition(")")[2].split()
        if not fields or fields[0] in "ZX" or int(fields[19]) != known["start"]:
            return False
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
    return True


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
