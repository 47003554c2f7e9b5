"""What the supervisor knows of a worker that was killed for memory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch import remote
from dogwatch.remote import supervisor
from tests.remote.runs import record, shell
from tests.support import wait_until

V1 = "9:name=systemd:/\n4:cpu,memory:/box/a\n0::/\n"
V1_MOUNTS = (
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,cpu,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)


@pytest.mark.parametrize(
    ("cgroups", "mounts", "counter"),
    [
        (V1, V1_MOUNTS, "/sys/fs/cgroup/memory/box/a/memory.oom_control"),
        (V1, V1_MOUNTS.replace(" / /sys", " /box /sys"), "/sys/fs/cgroup/memory/a/memory.oom_control"),
        (
            "0::/user.slice/s.scope\n",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
            "/sys/fs/cgroup/user.slice/s.scope/memory.events",
        ),
        ("0::/\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "/sys/fs/cgroup/memory.events"),
        ("0::/../outside\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", None),
        (V1, "", None),
        ("", V1_MOUNTS, None),
    ],
)
def test_the_memory_counter_is_found_in_both_kinds_of_cgroup(cgroups, mounts, counter):
    """Version 1 where memory is there, version 2 otherwise, seen from a container as well."""
    assert supervisor._find_counter(cgroups, mounts) == counter


@pytest.fixture
def cramped() -> Iterator[Path]:
    """A memory cgroup of 64 MiB without swap, removed afterwards."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a memory cgroup cannot be made without it")
    own = supervisor._find_counter(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    if own is None:
        pytest.skip("needs a memory cgroup, and none is mounted here")
    old = own.endswith("oom_control")
    top = re.search(
        r"^\S+ \S+ \S+ \S+ (\S+) .* - " + (r"cgroup \S+ (?:\S*,)?memory\b" if old else "cgroup2 "),
        Path("/proc/self/mountinfo").read_text(),
        re.MULTILINE,
    )
    assert top is not None
    group = Path(top.group(1), f"dogwatch-test-{os.getpid()}")
    limits = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if old else ["memory.max"]
    try:
        group.mkdir()
    except OSError as why:
        pytest.skip(f"needs to make a memory cgroup, which is not permitted here: {why}")
    try:
        if not (group / limits[0]).exists():
            pytest.skip("needs the memory controller, which is not handed down to new cgroups here")
        for name in limits:
            with contextlib.suppress(FileNotFoundError):
                (group / name).write_text(str(64 << 20))
        if (group / "memory.swap.max").exists():
            (group / "memory.swap.max").write_text("0")
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip())
        group.rmdir()


def test_a_worker_killed_for_memory_carries_the_evidence(home, cramped):
    """The kernel's own kill is told by counter and log; a later kill by hand does not borrow them."""
    eat = f"{sys.executable} -c \"b'x' * (300 << 20)\""
    run = shell(home, f"[ $DOGWATCH_WORKER = 1 ] && exec sleep 60; exec {eat}", workers=2)
    enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(cramped / "cgroup.procs")]
    command = [*enter, sys.executable, "-I", "-S", remote.SUPERVISOR, run.directory]
    done = subprocess.run(command, capture_output=True, timeout=30, check=True)
    hungry, idle = json.loads(done.stdout)["workers"]
    first = record(run, "worker-0.end.json")
    os.kill(idle, signal.SIGKILL)
    second = record(run, "worker-1.end.json")
    assert (first["signal"], first["oom"]["counter"]) == (signal.SIGKILL, 1)
    if first["oom"]["log_read"]:
        assert f"Killed process {hungry} " in first["oom"]["kernel_log"]
    assert (second["signal"], second["oom"]["counter"]) == (signal.SIGKILL, 0)
    assert second["oom"]["kernel_log"] is None
