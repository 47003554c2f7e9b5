"""The supervisor's records: no worker without one, and no exit code lost, by kills, full disks and deaf bells."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch import remote
from dogwatch.actions.launch import Run, start
from tests.remote.runs import alive, record, shell, supervisors, until
from tests.support import wait_until


def test_the_bell_is_rung_for_start_and_end(home):
    """A watcher that listens on the FIFO is told, and finds the record whenever it is told."""
    os.mkfifo(home / "wake", 0o600)
    wakeup = os.open(home / "wake", os.O_RDONLY | os.O_NONBLOCK)
    run = shell(home, "sleep 0.1; exit 3", workers=3)
    start(run)
    heard = b""
    while heard.count(b"\n") < 4:
        assert select.select([wakeup], [], [], 20)[0]
        with contextlib.suppress(BlockingIOError):
            heard += os.read(wakeup, 4096)
        ends = [name for name in os.listdir(run.directory) if re.fullmatch(r"worker-\d\.end\.json", name)]
        assert len(ends) >= heard.count(b"\n") - 1
    os.close(wakeup)
    assert set(heard.decode().split("\n")) == {run.id, ""}


@pytest.mark.parametrize("kind", ["nobody listens", "no bell", "a plain file", "a full bell"])
def test_a_bell_that_cannot_be_rung_changes_nothing(home, kind):
    """Without a listener the record is there all the same, and what is no FIFO is not written to."""
    opened = []
    if kind == "a plain file":
        (home / "wake").touch()
    elif kind != "no bell":
        os.mkfifo(home / "wake")
    if kind == "a full bell":
        opened.append(os.open(home / "wake", os.O_RDWR | os.O_NONBLOCK))
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(opened[0], b"x" * 4096)
    run = shell(home, "exit 5")
    supervisor_pid = start(run).supervisor_pid
    assert record(run, "worker-0.end.json")["code"] == 5
    wait_until(lambda: not alive(supervisor_pid))
    for fd in opened:
        os.close(fd)
    if kind == "a plain file":
        assert (home / "wake").read_bytes() == b""


@pytest.mark.needs_tool("strace")
def test_a_record_is_on_disk_before_the_bell_rings(home, tmp_path):
    """By the system calls: file synced, renamed, directory synced, and only then the FIFO opened."""
    os.mkfifo(home / "wake")
    wakeup = os.open(home / "wake", os.O_RDONLY | os.O_NONBLOCK)
    run = shell(home, "exit 0")
    trace = tmp_path / "trace"
    calls = "trace=fsync,rename,renameat,renameat2,openat,open"
    command = ["strace", "-f", "-o", str(trace), "-e", calls, sys.executable, "-I", "-S", remote.SUPERVISOR]
    subprocess.run([*command, run.directory], capture_output=True, timeout=60, check=True)
    os.close(wakeup)
    steps = re.findall(r"^\d+ +(fsync|rename\w*|open\w*)\((.*)$", trace.read_text(), re.MULTILINE)
    ours = [
        "end"
        if "worker-0.end.json" in rest and call.startswith("rename")
        else "bell"
        if f'"{home}/wake"' in rest
        else "sync"
        if call == "fsync"
        else ""
        for call, rest in steps
    ]
    order = [step for step in ours if step]
    at = order.index("end")
    assert order[at - 1 : at + 3] == ["sync", "end", "sync", "bell"]


@pytest.mark.needs_tool("strace")
@pytest.mark.parametrize(
    "point",
    [*(f"fsync:when={n}" for n in range(1, 7)), "linkat:when=1", "renameat:when=1", "renameat:when=2"],
)
def test_a_supervisor_killed_at_a_sync_leaves_no_unrecorded_worker(home, tmp_path, point):
    """SIGKILL at each sync and rename of the start: whoever runs has a start record on disk."""
    seen = tmp_path / "seen"
    seen.mkdir()
    run = shell(home, f"echo > {seen}/$$; exec sleep 60", workers=2)
    call, _, when = point.partition(":")
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:{when}"]
    command = ["strace", "-f", "-o", "/dev/null", *inject, sys.executable, "-I", "-S", remote.SUPERVISOR]
    tracer = subprocess.Popen([*command, run.directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: supervisors(run) or tracer.poll() is not None)
        wait_until(lambda: not supervisors(run))
        check_every_worker_is_recorded(run, seen)
    finally:
        end_all(run, seen)
        tracer.wait(timeout=20)


def test_a_supervisor_killed_at_random_leaves_no_unrecorded_worker(home, tmp_path):
    """Thirty supervisors get SIGKILL somewhere in their first moments: whoever runs has a start record."""
    chance = random.Random(2)
    for result in range(30):
        seen = tmp_path / f"seen-{result}"
        seen.mkdir()
        run = shell(home, f"echo > {seen}/$$; exec sleep 60", workers=6)
        command = [sys.executable, "-I", "-S", remote.SUPERVISOR, run.directory]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.015, 0.06))
        while found := supervisors(run):
            for pid, parent in found.items():
                if parent not in found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            first.poll()
        first.wait(timeout=20)
        try:
            check_every_worker_is_recorded(run, seen)
        finally:
            end_all(run, seen)


def check_every_worker_is_recorded(run: Run, seen: Path) -> None:
    recorded = {json.loads(path.read_text())["pid"] for path in Path(run.directory).glob("worker-*.start.json")}
    assert {int(name) for name in os.listdir(seen)} <= recorded
    if recorded:
        assert Path(run.directory, "supervisor.json").exists()


def end_all(run: Run, seen: Path) -> None:
    """End the workers that said they run, recorded or not (each one said so before it slept)."""
    for path in Path(run.directory).glob("worker-*.start.json"):
        (seen / str(json.loads(path.read_text())["pid"])).touch()
    for name in os.listdir(seen):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(name)) == int(name):
                os.kill(int(name), signal.SIGKILL)


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """The home on a disk of one MiB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(home)])
    if mounted.returncode:
        pytest.skip("needs to mount a tmpfs, which is not permitted here")
    yield home
    subprocess.run(["umount", "-l", str(home)], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


@pytest.mark.needs_root
@pytest.mark.needs_tool("mount", "umount")
def test_an_end_record_waits_for_room(small_disk, tmp_path):
    """On a full disk no exit code is lost: the supervisor holds it until it fits."""
    run = shell(small_disk, until(tmp_path / "go", "exit 9"), workers=2)
    started = start(run)
    filler = fill(small_disk)
    (tmp_path / "go").touch()
    wait_until(lambda: not any(alive(pid or 0) for pid in started.worker_pids))
    assert alive(started.supervisor_pid)
    assert not list(Path(run.directory).glob("*.end.json"))
    filler.unlink()
    assert [record(run, f"worker-{k}.end.json")["code"] for k in range(2)] == [9, 9]
    wait_until(lambda: not alive(started.supervisor_pid))


@pytest.mark.needs_tool("strace")
def test_a_worker_whose_start_record_cannot_be_written_is_not_started(home, tmp_path):
    """With every sync failing after the claim, nothing runs, and the report says why."""
    run = shell(home, f"touch {tmp_path}/ran")
    inject = ["-e", "trace=fsync", "-e", "inject=fsync:error=ENOSPC:when=3+"]
    command = ["strace", "-f", "-o", "/dev/null", *inject, sys.executable, "-I", "-S", remote.SUPERVISOR]
    tracer = subprocess.Popen([*command, run.directory], stdout=subprocess.PIPE)
    assert tracer.stdout is not None
    report = json.loads(tracer.stdout.readline())
    assert report["workers"] == [None]
    assert "No space left" in report["errors"]["0"]
    os.kill(report["supervisor"], signal.SIGKILL)  # it would hold the records until they fit
    tracer.wait(timeout=20)
    tracer.stdout.close()
    assert not (tmp_path / "ran").exists()
