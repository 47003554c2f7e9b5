"""A filesystem that hangs costs the probe only the files on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.remote import extra_probe
from dogwatch.transport.local import Here
from tests.remote.asking import ask
from tests.support import wait_until

FROZEN_DISK = """
import errno, stat, sys
import mfusepy as fuse

class Disk(fuse.Operations):
    use_ns = True
    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if path == "/train.log":
            return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": 6, "st_ino": 7}
        raise fuse.FuseOSError(errno.ENOENT)
    def readdir(self, path, fh):
        return [".", "..", "train.log"]
    def read(self, path, size, offset, fh):
        return b"hello\\n"[offset:offset + size]

fuse.FUSE(Disk(), sys.argv[1], foreground=True, nothreads=True, attr_timeout=0, entry_timeout=0)
"""


@pytest.fixture
def frozen_disk(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A real filesystem with one log, and the process that serves it: stop that and the filesystem hangs."""
    mount = tmp_path / "disk"
    mount.mkdir()
    server = subprocess.Popen([sys.executable, "-c", FROZEN_DISK, str(mount)], stderr=subprocess.PIPE)
    try:
        wait_until(lambda: os.path.ismount(mount) or server.poll() is not None)
        if server.poll() is not None:
            pytest.skip(f"no FUSE here: {server.communicate()[1].decode()[-200:]}")
        yield mount, server
    finally:
        server.kill()
        server.communicate()
        subprocess.run(["fusermount3", "-u", "-z", str(mount)], capture_output=True)


def stop(pid: int) -> None:
    """SIGSTOP, and wait until it has taken hold: a process on another processor runs on for a moment."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


@pytest.mark.needs_fuse
def test_a_hung_filesystem_costs_only_the_files_on_it(
    here: Here, tmp_path: Path, frozen_disk: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    """Processes, and logs elsewhere, still get answered; when the filesystem comes back, so do its logs."""
    mount, server = frozen_disk
    (tmp_path / "fine.log").write_text("fine\n")
    request = {
        "process": {"find": {"job": {"pids": [server.pid]}}},
        "logs": {"hung": {"globs": [f"{mount}/*.log"]}, "fine": {"globs": [str(tmp_path / "fine.log")]}},
    }
    assert ask(here, request)["logs"]["hung"]["files"][f"{mount}/train.log"]["text"] == "hello\n"
    stop(server.pid)
    for _ in range(2):
        body = ask(here, request, deadline=2.0)
        assert body["process"]["ok"] is True
        assert body["process"]["find"]["job"]["process"][0]["doing"] == "stopped"
        assert body["logs"]["ok"] is False
        assert "did not answer in" in body["logs"]["why"]
        assert "hung" in body["logs"]["late"]
    assert body["logs"]["late"] == ["hung"]  # what hung once is asked last from then on
    assert body["logs"]["fine"]["files"][str(tmp_path / "fine.log")]["text"] == "fine\n"
    os.kill(server.pid, signal.SIGCONT)
    body = ask(here, request)
    assert body["logs"]["ok"] is True
    assert body["logs"]["hung"]["files"][f"{mount}/train.log"]["text"] == "hello\n"


@pytest.mark.needs_fuse
def test_errands_come_after_all_else_and_one_that_hangs_costs_only_itself(
    here: Here, tmp_path: Path, frozen_disk: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    """What is asked seldom must not stand in the way of what is asked at every poll."""
    mount, server = frozen_disk
    logs = {f"job {n}": {"globs": [str(tmp_path / f"{n}.log")]} for n in range(5)}
    for n in range(5):
        (tmp_path / f"{n}.log").write_text("fine\n")
    call = {"jobs": {"job": {"files": [f"{mount}/train.log"]}}, "seconds": 5.0, "bytes": 1 << 20}
    request = {"extra_probes": {"closer": {"program": extra_probe("integrity"), "call": call}}, "logs": logs}
    assert set(ask(here, request)["extra_probes"]["closer"]) == {"jobs"}
    stop(server.pid)
    for _ in range(2):
        body = ask(here, request, deadline=2.0)
        assert body["logs"]["ok"] is True
        assert len(body["logs"]) == 2 + len(logs)
        assert set(body["extra_probes"]["closer"]) == {"why"}
    os.kill(server.pid, signal.SIGCONT)


@pytest.mark.needs_fuse
def test_closing_does_not_wait_for_a_hung_filesystem(frozen_disk: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """Close comes back while a reader hangs, and the probe is gone."""
    mount, server = frozen_disk
    transport = Here()
    ask(transport, {"logs": {"job": {"globs": [f"{mount}/train.log"]}}})
    child = transport.pid
    stop(server.pid)
    assert ask(transport, {"logs": {"job": {"globs": [f"{mount}/train.log"]}}}, deadline=1.0)["logs"]["ok"] is False
    transport.close()
    assert not os.path.exists(f"/proc/{child}")


@pytest.fixture
def freezer() -> Iterator[Path]:
    """A cgroup (v1) whose processes do not even die of SIGKILL, as in a filesystem that never answers."""
    group = Path(f"/sys/fs/cgroup/freezer/dogwatch-test-{uuid.uuid4().hex[:8]}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup v1 freezer here: {error}")
    yield group
    (group / "freezer.state").write_text("THAWED")
    wait_until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@pytest.mark.needs_root
def test_readers_that_cannot_be_killed_do_not_pile_up(here: Here, tmp_path: Path, freezer: Path) -> None:
    """After three stuck readers the answer comes at once, until they go."""
    (tmp_path / "train.log").write_text("x")
    request = {"logs": {"job": {"globs": [str(tmp_path / "train.log")]}}}
    for _ in range(3):
        assert ask(here, request)["logs"]["ok"] is True
        children = Path(f"/proc/{here.pid}/task/{here.pid}/children").read_text().split()
        (freezer / "cgroup.procs").write_text(children[-1])
        (freezer / "freezer.state").write_text("FROZEN")
        wait_until(lambda: (freezer / "freezer.state").read_text().strip() == "FROZEN")
        assert "did not answer" in ask(here, request, deadline=0.5)["logs"]["why"]
    assert "3 earlier readers are still stuck" in ask(here, request)["logs"]["why"]
    (freezer / "freezer.state").write_text("THAWED")
    wait_until(lambda: ask(here, request)["logs"]["ok"])
