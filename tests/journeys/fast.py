"""A clock that runs many times as fast for every process of one journey, for waits that take minutes or hours.

`fast` puts a small library in front of the C library of everything started with `environment` (LD_PRELOAD): Dogwatch,
its probe and supervisors, workers in Python, shell scripts and their `sleep`. Outside `with fast(100):` all of it is
real.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fast.c")
ROW, ROWS, PIDS = struct.Struct("=qqq"), 50_000, 5_000
WHO = 16 + ROWS * ROW.size
SIZE = WHO + 8 * PIDS
GLANCE = 0.01  # seconds between two probe answers at who works


class Fast:
    """The pace of time in a journey. It hurries while everybody who lives by this clock sleeps, and is real while
    anybody works: so no deadline passes because a busy machine was slow."""

    def __init__(self, table: Path) -> None:
        with table.open("w+b") as file:
            file.truncate(SIZE)
            self._table = mmap.mmap(file.fileno(), SIZE)
        self._last, self._rows = (0, 0, 1), 0
        self._gone: set[int] = set()

    @contextlib.contextmanager
    def __call__(self, rate: int) -> Iterator[None]:
        """From here to the end of the block, time passes `rate` times as fast whenever nobody works."""
        over = threading.Event()
        pace = threading.Thread(target=self._pace, args=(rate, over), daemon=True)
        pace.start()
        try:
            yield
        finally:
            over.set()
            pace.join()
            self._go(1)

    @property
    def ahead(self) -> float:
        """By how many seconds the fast clock is ahead of the real one."""
        return self._extra(time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9

    def _pace(self, rate: int, over: threading.Event) -> None:
        while not over.wait(GLANCE):
            self._go(1 if any(map(self._works, self._everybody())) else rate)

    def _everybody(self) -> list[int]:
        joined = min(PIDS, struct.unpack_from("=q", self._table, 8)[0])
        pids = struct.unpack_from(f"={joined}q", self._table, WHO)
        return [pid for pid in pids if pid and pid not in self._gone]

    def _works(self, pid: int) -> bool:
        """Whether a thread of it runs, waits for a processor, or waits for a disk."""
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/stat", "rb") as file:
                    state = file.read(512).rpartition(b")")[2][1:2]
                if state in b"RD":
                    return True
                if state in b"ZX" and task == str(pid):
                    self._gone.add(pid)
        except (FileNotFoundError, ProcessLookupError):
            if not os.path.exists(f"/proc/{pid}"):
                self._gone.add(pid)
        return False

    def _extra(self, now: int) -> int:
        since, extra, rate = self._last
        return extra + (now - since) * (rate - 1) if self._rows else 0

    def _go(self, rate: int) -> None:
        if rate == self._last[2] or self._rows == ROWS:
            return
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        row = (now, self._extra(now), rate)
        ROW.pack_into(self._table, 16 + self._rows * ROW.size, *row)
        self._last, self._rows = row, self._rows + 1
        struct.pack_into("=q", self._table, 0, self._rows)


@pytest.fixture(scope="session")
def fast_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("fast") / "fast.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True, timeout=60)
    return library


@pytest.fixture
def fast(fast_library: Path, environment: dict[str, str], tmp_path: Path) -> Fast:
    """`with fast(100): wait_until(...)`: whatever was started with `environment` lives a hundred seconds in one."""
    table = tmp_path / "fast-clock"
    environment.update(LD_PRELOAD=str(fast_library), FAST_CLOCK=str(table))
    return Fast(table)
