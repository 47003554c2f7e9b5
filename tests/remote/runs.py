"""Runs under a supervisor, their records and their processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from dogwatch import remote
from dogwatch.actions.launch import Run, prepare, start
from tests.support import wait_until


def ready(home: Path, *argv: str, workers: int = 1, **more) -> Run:
    asked = {"gpus": None, "env": [], "cwd": None, "now": 1000.0, **more}
    return prepare(str(home), "kept", argv, workers=workers, **asked)


def shell(home: Path, script: str, workers: int = 1) -> Run:
    return ready(home, "sh", "-c", script, workers=workers)


def until(path: Path, then: str) -> str:
    """A shell script that waits for a file and then does something."""
    return f"while [ ! -e {path} ]; do sleep 0.02; done; {then}"


def record(run: Run, name: str) -> dict:
    """A record of the run, once it is there."""
    path = Path(run.directory, name)
    wait_until(path.exists)
    return json.loads(path.read_text())


def started_pids(run: Run) -> list[int]:
    """Start the run; the pids of the workers that became their program."""
    return [pid for pid in start(run).worker_pids if pid]


def doing(pid: int) -> str:
    """The state letter of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    return doing(pid) not in ("", "Z", "X")


def supervisors(run: Run) -> dict[int, int]:
    """Processes that are this run's supervisor or have not become its workers yet, with their parents."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(run.directory) in words and b"strace" not in words[0]:
                found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def keep(run: Run, **more) -> dict:
    """Run the supervisor's first process by hand and return its report."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", remote.SUPERVISOR, run.directory], capture_output=True, timeout=30, **more
    )
    return json.loads(done.stdout)
