"""Who uses the laboratory, and until when: it stands as long as one of them lives and its time is not over."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tests.lab.ground import LabError, write
from tests.lab.processes import start_time

# One laboratory per machine: its users, cgroups and namespaces have fixed names.
POINTER = Path("/run/dogwatch-lab.json")
LOCK = Path("/run/dogwatch-lab.lock")
SESSION = Path("/run/dogwatch-lab.session")
BY_HAND = "by-hand"


def hours() -> float:
    return float(os.environ.get("LAB_HOURS", "2"))


class Leases:
    """A file per user of the laboratory; times are CLOCK_MONOTONIC, which all processes of one boot share."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def take(self, by_hand: bool = False) -> None:
        """For this process, or for a person until they say stop; never longer than LAB_HOURS."""
        self.directory.mkdir(exist_ok=True)
        lease: dict[str, object] = {"until": time.monotonic() + 3600 * hours()}
        if not by_hand:
            lease |= {"pid": os.getpid(), "start": start_time(os.getpid())}
        write(self._path(by_hand), json.dumps(lease))

    def drop(self, by_hand: bool = False) -> None:
        self._path(by_hand).unlink(missing_ok=True)

    def _path(self, by_hand: bool) -> Path:
        return self.directory / f"{BY_HAND if by_hand else os.getpid()}.json"

    def living(self) -> list[str]:
        """Names of the leases that still count: pids, or `by-hand`."""
        return [path.stem for path in sorted(self.directory.glob("*.json")) if _counts(path)]


def _counts(path: Path) -> bool:
    try:
        lease = json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    if time.monotonic() > lease["until"]:
        return False
    return "pid" not in lease or start_time(lease["pid"]) == lease["start"]


@contextlib.contextmanager
def only_one(path: Path, silence_limit: float, what: str) -> Iterator[None]:
    """Hold a machine-wide lock, which the kernel gives back even when its holder is killed."""
    limit = time.monotonic() + silence_limit
    with path.open("a+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > limit:
                    file.seek(0)
                    raise LabError(f"{what}: held by process {file.read().strip() or '?'}") from None
                time.sleep(0.1)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield
