"""A disk that turns read-only under a running watcher, for good or for a while."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import needs_root, needs_tool
from tests.faults.scene import events, gated, jobs, refused, states, watcher
from tests.support import wait_until

WRITES = "pwrite64,ftruncate,fallocate,fsync,fdatasync"


@contextlib.contextmanager
def read_only_for(pid: int) -> Iterator[None]:
    """Every write of a running process fails as on a read-only disk. (The kernel itself refuses to remount
    read-only what is open for writing, except after an error, and then it does not turn back.)"""
    inject = f"inject={WRITES}:error=EROFS"
    command = ["strace", "-p", str(pid), "-o", "/dev/null", "-e", f"trace={WRITES}", "-e", inject]
    strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert strace.stderr is not None
    assert "attached" in strace.stderr.readline()
    try:
        yield
    finally:
        strace.terminate()
        strace.communicate(timeout=10)


@needs_tool("strace")
def test_a_disk_that_is_read_only_for_a_while_loses_no_ending(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """The daemon looks on, and what ended meanwhile is recorded with the right outcome without a restart."""
    gated(dogwatch, tmp_path / "bad", 5)
    process, said = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "running")
    seen = len(events(dogwatch))
    with read_only_for(process.pid):
        wait_until(lambda: "read-only" in said())
        (tmp_path / "bad").touch()
        wait_until(lambda: list(home.glob("runs/*/worker-0.end.json")))
        assert dogwatch("ls").returncode == 0
        assert jobs(dogwatch)["bad"]["state"] == "running"
        assert len(events(dogwatch)) == seen
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "ended")
    assert states(dogwatch, "bad") == ["running", "failed"]
    assert jobs(dogwatch)["bad"]["exit_code"] == 5
    assert (said().count("read-only"), said().count("recording again")) == (1, 1)
    assert process.poll() is None


@contextlib.contextmanager
def ext4(image: Path, point: Path) -> Iterator[Path]:
    subprocess.run(["mount", "-o", "loop", image, point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True)


@needs_root
@needs_tool("mkfs.ext4", "fsck.ext4")
def test_a_disk_that_the_kernel_turned_read_only_is_said_once_and_read_on(
    dogwatch, spawn, home: Path, tmp_path: Path
) -> None:
    """As ext4 does after an error: the interfaces answer, nothing is claimed, and after the mending all is told."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["/sbin/mkfs.ext4", "-q", "-O", "^has_journal", image], check=True)
    with ext4(image, home), subprocess.Popen(["sleep", "600"]) as worker:
        home.chmod(0o700)
        assert dogwatch("add", "process", worker.pid, "--name", "theirs").returncode == 0
        process, said = watcher(spawn, home)
        wait_until(lambda: jobs(dogwatch)["theirs"]["state"] == "running")
        seen = events(dogwatch)
        subprocess.run(["mount", "-o", "remount,abort", home], check=True)
        wait_until(lambda: "read-only" in said())
        worker.kill()
        worker.wait()
        for verb in (["ls"], ["status", "theirs"], ["events"]):
            assert dogwatch(*verb).returncode == 0, verb
        assert "read-only" in refused(dogwatch("run", "--detach", "--", "true"), 3).lower()
        assert events(dogwatch) == seen
        assert jobs(dogwatch)["theirs"]["state"] == "running"
        assert said().count("read-only") == 1
        process.terminate()
        assert process.wait(timeout=5) == 0
    subprocess.run(["/sbin/fsck.ext4", "-fy", image], check=False, capture_output=True)
    with ext4(image, home):
        watcher(spawn, home)
        wait_until(lambda: jobs(dogwatch)["theirs"]["state"] == "ended")
        assert states(dogwatch, "theirs") == ["running", "unknown"]
