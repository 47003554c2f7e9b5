"""Evidence beyond the log: real jobs that really end in each way, and what `why` makes of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dogwatch.watcher.job.read_files import OTHERS
from tests.support import memory_cgroup, wait_until

STEPS = "import os, signal, sys, time\nfor i in range(3): print(f'step {i}/90 loss {3 - i}', flush=True)\n"
MORE = "for i in range(3, 900): print(f'step {i}/9000 loss {3 - i / 900} lr 1e-4 tokens 4096', flush=True)\n"
CUDA = "raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')"


def ended(dogwatch, name: str, *argv: object, flags: tuple[object, ...] = ()) -> dict:
    """Start it, wait for its end under a watcher, and ask why."""
    assert dogwatch("run", "--detach", "--name", name, *flags, "--", *argv).returncode == 0
    dogwatch("wait", name, "--timeout", "60")
    found: dict = json.loads(dogwatch("why", name, "--json").stdout)
    return found


def is_running(dogwatch, name: str) -> bool:
    return '"state": "running"' in dogwatch("status", name, "--json").stdout


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("os.kill(os.getpid(), 9)", "killed"),
        ("os.kill(os.getpid(), 11)", "segfault"),
        ("os.kill(os.getpid(), 6)", "aborted"),
        ("os.kill(os.getpid(), 15)", "interrupted"),
        ("sys.exit(137)", "killed"),
        ("sys.exit(1)", "unknown"),
        ("raise MemoryError", "host_oom"),
        (CUDA, "cuda_oom"),
        (f"try:\n    {CUDA}\nexcept RuntimeError as e: print('caught', e)\n{MORE}os.kill(os.getpid(), 9)", "killed"),
    ],
)
def test_what_the_supervisor_recorded_decides_where_the_log_does_not(dogwatch, code: str, cause: str) -> None:
    """Signals and codes are evidence, and an error in the log that explains them goes first; one that the program
    survived does not."""
    found = ended(dogwatch, "ends", sys.executable, "-c", STEPS + code)
    assert found["cause"] == cause


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    with memory_cgroup(40_000_000) as group:
        yield group


@pytest.mark.needs_root
def test_a_kill_by_the_kernel_for_memory_is_host_memory(dogwatch, small_cgroup: Path) -> None:
    """Nothing stands in the log; the counter of its cgroup says who killed it."""
    enter = f"open({str(small_cgroup / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
    found = ended(dogwatch, "heavy", sys.executable, "-c", STEPS + enter + "time.sleep(1)\nblock = b'x' * 400_000_000")
    assert found["cause"] == "host_oom"
    assert found["confidence"] >= 0.9


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB and a hundred files."""
    path = tmp_path / "small"
    path.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=8m,nr_inodes=100", "tmpfs", str(path)]
    if subprocess.run(mounted, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.needs_root
def test_inodes_that_ran_out_are_told_from_bytes_that_did(dogwatch, small_disk: Path) -> None:
    """Both are Errno 28 to a program; what was left on the disk when it ended decides."""
    many = f"for i in range(1000): open(f'{small_disk}/{{i}}.txt', 'w').close()"
    flags = ("--output", f"{small_disk}/*")
    found = ended(dogwatch, "many", sys.executable, "-c", STEPS + many, flags=flags)
    assert found["cause"] == "inodes_full"
    assert "No space left on device" in found["evidence"][0]["text"]
    assert any("no inodes left" in quote["text"] for quote in found["evidence"])
    for path in small_disk.iterdir():
        path.unlink()
    large = f"open('{small_disk}/big.bin', 'wb').write(b'x' * 20_000_000)"
    found = ended(dogwatch, "large", sys.executable, "-c", STEPS + large, flags=flags)
    assert found["cause"] == "disk_full"


@pytest.mark.needs_root
def test_a_full_disk_explains_what_its_log_does_not(dogwatch, small_disk: Path) -> None:
    """A program that only says that it could not go on, on a disk without room."""
    quiet = (
        f"f = open('{small_disk}/big.bin', 'wb', buffering=0)\ntry:\n    while True: f.write(b'x' * 100_000)\n"
        "except OSError: sys.exit(1)"
    )
    found = ended(dogwatch, "quiet", sys.executable, "-c", STEPS + quiet, flags=("--output", f"{small_disk}/*"))
    assert found["cause"] == "disk_full"
    assert found["confidence"] < 0.9


def test_only_what_this_run_appended_to_a_shared_log_counts(dogwatch, spawn, tmp_path: Path) -> None:
    """Two runs write one log; the error of the first is not the cause of the second."""
    shared = tmp_path / "master.log"
    script = tmp_path / "train.py"
    script.write_text(STEPS + "if sys.argv[1] == 'bad': raise FileNotFoundError(2, 'No such file', '/data/a.bin')\n")
    for how, code in (("bad", "1"), ("good", "7")):
        seen = tmp_path / how
        # What was written within a second before a process began may be its own: its clock is no finer.
        wait_until(lambda: not shared.exists() or time.time() - shared.stat().st_mtime > 2 * OTHERS)
        command = f"{sys.executable} {script} {how} >> {shared} 2>&1; exit {code}"
        started = subprocess.Popen(["sh", "-c", f"until [ -e {seen} ]; do sleep 0.1; done; {command}"])
        assert dogwatch("add", "process", started.pid, "--name", how, "--log", shared).returncode == 0
        watching = spawn("watch", how)
        wait_until(partial(is_running, dogwatch, how))
        seen.touch()
        started.wait()
        watching.wait(60)
    first, second = (json.loads(dogwatch("why", how, "--json").stdout)["cause"] for how in ("bad", "good"))
    assert (first, second) == ("file_missing", None)
