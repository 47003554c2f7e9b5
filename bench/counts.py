"""What can be counted and needs no quiet machine: calls, opened files, modules and bytes of `ls` and of a poll."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.stage import Stage

JOBS = 4
# What a watcher that has nothing to send and no screen to draw does without.
NOT_NEEDED = frozenset(
    {"apprise", "email", "http", "hyperscan", "rich", "ruamel", "smtplib", "ssl", "textual", "zipfile"}
)
WORK = (
    f"`dogwatch ls --no-poll` and one poll of a watcher over {JOBS} known processes, one of which has a log that "
    "grows: calls of functions, files opened, modules loaded and bytes held, counted from inside."
)


def measure() -> Iterator[Figure]:
    with Stage() as stage:
        log = _add_jobs(stage)
        ls, poll = counted(stage, "ls"), counted(stage, "watch", log)
    yield Figure("modules that ls loads", ls["modules"], "count", limit=75)
    yield Figure("files that ls opens", ls["opened"], "count", limit=75)
    yield Figure("calls of ls", ls["calls"] / 1000, "thousand", limit=20)
    yield Figure("modules of a watcher", poll["modules"], "count", limit=540)
    yield Figure("modules of a watcher that it does not need", len(NOT_NEEDED & set(poll["loaded"])), "count", limit=0)
    yield Figure("files that the watcher opens in a poll", poll["opened"], "count", limit=5)
    yield Figure("calls of a poll", poll["calls"] / 1000, "thousand", limit=10)
    yield Figure("memory that a watcher's objects take", poll["held"] / 1e6, "MB", limit=24)


def _add_jobs(stage: Stage) -> str:
    log = os.path.join(stage.directory, "train.log")
    Path(log).touch()
    for number in range(JOBS):
        process = stage.adopt(subprocess.Popen(["sleep", "3600"]))
        words = [] if number else ["--log", log]
        stage.dogwatch("add", "process", str(process.pid), "--name", f"job-{number}", *words)
    return log


def counted(stage: Stage, *words: str) -> dict[str, Any]:
    """What the program counted of itself, on the stage's home."""
    command = [sys.executable, "-m", "bench.counted", *words]
    root = Path(__file__).parent.parent
    ran = subprocess.run(command, cwd=root, env=stage.environment, capture_output=True, text=True, timeout=120)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found
