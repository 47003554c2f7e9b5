"""What several tests share: waiting for something to become true instead of sleeping, and a clock to put forward."""

from __future__ import annotations

import base64
import contextlib
import json
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from dogwatch import remote
from dogwatch.clock import Clock

T = TypeVar("T")
FULL_DISK = "disk_low"


def wait_until(predicate: Callable[[], T], timeout: float = 20.0, pause: float = 0.02) -> T:
    """Return the first true answer of `predicate`, or fail with its last one after `timeout` seconds."""
    limit = time.monotonic() + timeout
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > limit:
            raise AssertionError(f"still {answer!r} after {timeout} s")
        time.sleep(pause)


def jobs(dogwatch, *flags: str) -> dict[str, dict]:
    """Every job by name, as `ls --all` tells it, but for the disk of the machine that runs the tests."""
    found = json.loads(dogwatch("ls", "--all", "--json", "--no-poll", *flags).stdout)["jobs"]
    for job in found:
        job["findings"] = [finding for finding in job["findings"] if finding["rule"] != FULL_DISK]
    return {job["name"]: job for job in found}


@contextlib.contextmanager
def memory_cgroup(limit: int) -> Iterator[Path]:
    """A memory cgroup (v1) of so many bytes below our own; the test is skipped where none can be made."""
    rows = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    mine = next((path for _, kind, path in rows if kind == "memory"), None)
    group = Path(f"/sys/fs/cgroup/memory{mine}/dogwatch-test-{uuid.uuid4().hex[:8]}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
    except OSError as error:
        pytest.skip(f"no cgroup v1 memory group can be made here: {error}")
    yield group
    wait_until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


class Ahead(Clock):
    """The real clock, put forward by hand."""

    by = 0.0

    def now(self) -> float:
        return super().now() + self.by

    def mono(self) -> float:
        return super().mono() + self.by


def with_the_probe(name: str) -> bytes:
    """An extra probe as it finds itself where it is run: behind the text of the probe, whose names it may use."""
    return remote.probe_text() + zlib.decompress(base64.b64decode(remote.extra_probe(name)))
