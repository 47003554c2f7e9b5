"""A clock that runs many times as fast for every process of one journey, for waits that take minutes or hours.

`fast` puts a small library in front of the C library of everything started with `environment` (LD_PRELOAD): Dogwatch,
its probe and keepers, workers in Python, shell scripts and their `sleep`. Outside a `with fast(30):` all of it is real.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fast.c")
ROW = struct.Struct("=qqq")
SIZE = 8 + 500 * ROW.size


class Fast:
    """The pace of time in a journey. Deadlines pass as fast as everything else: beyond about 40 times, a busy machine
    is late for them."""

    def __init__(self, table: Path) -> None:
        table.write_bytes(bytes(SIZE))
        with table.open("r+b") as file:
            self._table = mmap.mmap(file.fileno(), SIZE)
        self._rows: list[tuple[int, int, int]] = []

    @contextlib.contextmanager
    def __call__(self, rate: int) -> Iterator[None]:
        """From here to the end of the block, time passes `rate` times as fast."""
        self._go(rate)
        try:
            yield
        finally:
            self._go(1)

    @property
    def ahead(self) -> float:
        """By how many seconds the fast clock is ahead of the real one."""
        return self._extra(time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9

    def _extra(self, now: int) -> int:
        since, extra, rate = self._rows[-1] if self._rows else (now, 0, 1)
        return extra + (now - since) * (rate - 1)

    def _go(self, rate: int) -> None:
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        row = (now, self._extra(now), rate)
        ROW.pack_into(self._table, 8 + len(self._rows) * ROW.size, *row)
        self._rows.append(row)
        struct.pack_into("=q", self._table, 0, len(self._rows))


@pytest.fixture(scope="session")
def fast_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("fast") / "fast.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True, timeout=60)
    return library


@pytest.fixture
def fast(fast_library: Path, environment: dict[str, str], tmp_path: Path) -> Fast:
    """`with fast(30): wait_until(...)`: whatever was started with `environment` lives thirty seconds in one."""
    table = tmp_path / "fast-clock"
    environment.update(LD_PRELOAD=str(fast_library), FAST_CLOCK=str(table))
    return Fast(table)
