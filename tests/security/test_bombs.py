"""What is small to send and large to read: a job costs the watch neither its memory, nor its time, nor other jobs."""

from __future__ import annotations

import gzip
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.security.hosts import WEIGH
from tests.support import wait_until

MEMORY, FILE_MEGABYTES = 1 << 30, 256
# Read as a batch script is: in a process that has a gigabyte and ten seconds.
READS_A_SCRIPT = """
import sys
from dataclasses import replace
from dogwatch.sources.slurm import logs_of
from tests.sources.slurm.test_logs import FACTS
print(len("".join(logs_of(replace(FACTS, workdir="/work", stdout="", stderr=""), "12", sys.stdin.read()))))
"""
SCRIPTS = {
    "a variable that doubles": "A=xxxxxxxxxx\n" + "A=$A$A\n" * 60 + "echo > /tmp/$A\n",
    "a variable many times in a word": "A=" + "x" * 4000 + "\nB=" + "$A" * 200_000 + "\necho > /tmp/$B\n",
    "directories without end": "cd aaaaaaaaaaaaaaaaaaaaaaaaa\n" * 35_000 + "echo > log\n",
    "brackets": "echo > /tmp/" + "[" * 4000 + "\n",
    "substitutions": "echo > " + "$(" * 400_000 + "\n",
    "here-documents": "cat <<E\n" * 100_000,
}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_batch_script_is_read_in_bounded_time_and_memory(name: str) -> None:
    """Slurm hands out what its owner wrote, and only paths that a kernel takes are asked for."""
    argv = [sys.executable, "-c", READS_A_SCRIPT]
    done = subprocess.run(argv, input=SCRIPTS[name], capture_output=True, text=True, preexec_fn=limited, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) <= 16 * 4096


def test_a_path_that_no_kernel_takes_is_refused_and_the_other_jobs_are_watched(dogwatch, tmp_path: Path) -> None:
    """The check of answers refuses such a path, and with it the answer about every job of the machine."""
    long = "x" * 9000
    with subprocess.Popen(["sleep", "120"]) as job:
        try:
            for flag in ("--log", "--output", "--checkpoint"):
                refused = dogwatch("add", "process", job.pid, "--name", "long", flag, f"{tmp_path}/{long}")
                assert (refused.returncode, "at most 4096 bytes" in refused.stderr) == (2, True), refused.stderr
            file = tmp_path / "job.yaml"
            file.write_text(f"paths: {{log_dir: {tmp_path}}}\npatterns: {{logs: '{long}'}}\n")
            refused = dogwatch("watch", "--config", file, "--pid", job.pid)
            assert (refused.returncode, "at most 4096 bytes" in refused.stderr) == (2, True), refused.stderr
            assert dogwatch("add", "process", job.pid, "--name", "good").returncode == 0
            assert dogwatch("patrol").returncode == 0
        finally:
            job.kill()
    assert json.loads(dogwatch("status", "good", "--json", "--no-poll").stdout)["jobs"][0]["state"] == "running"


def test_what_is_no_log_is_not_read_as_one(dogwatch, tmp_path: Path) -> None:
    """A FIFO, a device, a socket, a link to itself, and a file of two terabytes without a byte in it."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2 << 40)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    logs = [f"--log={tmp_path}/{name}" for name in ("fifo", "loop", "sparse", "socket")]
    with subprocess.Popen(["sleep", "120"]) as job:
        try:
            added = dogwatch("add", "process", job.pid, "--name", "odd", *logs, "--log=/dev/zero")
            assert added.returncode == 0, added.stderr
            for _ in range(3):
                assert dogwatch("patrol", timeout=60).returncode == 0
            shown = dogwatch("logs", "odd", timeout=60)
        finally:
            job.kill()
    assert len(shown.stdout) < 30_000
    assert json.loads(dogwatch("status", "odd", "--json", "--no-poll").stdout)["jobs"][0]["state"] == "running"


FILES: dict[str, Callable[[], bytes]] = {
    "wide.csv": lambda: b"a" + b"," * 40_000_000 + b"\n1\n",
    "row-over-lines.csv": lambda: b'"\n",' * 8_000_000 + b"\n",
    "objects.jsonl": lambda: b"[" + b"{}," * 8_000_000 + b"0]\n",
    "deep.json": lambda: b"[" * 2_000_000,
    "zeros.jsonl.gz": lambda: gzip.compress(bytes(200_000_000)),
    "header.safetensors": lambda: (90_000_000).to_bytes(8, "little") + b'{"a":' * 4_000_000,
    "lists.pkl": lambda: b"\x80\x04" + b"(l" * 3_000_000 + b".",
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_checked_in_bounded_memory(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    """Whatever a job leaves as its output: a verdict in one or two lines."""
    (tmp_path / name).write_bytes(FILES[name]())
    argv = [sys.executable, "-I", "-S", "-c", WEIGH, str(tmp_path / "weight"), sys.executable, "-m", "dogwatch"]
    done = subprocess.run([*argv, "check", name], cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert done.returncode in (0, 1, 3), done.stderr
    assert done.stdout.startswith((b"intact", b"damaged", b"cannot tell"))
    assert int((tmp_path / "weight").read_text()) / 1024 < FILE_MEGABYTES


@pytest.mark.parametrize(
    "text",
    [
        '{"code": {"x": 1}}',
        '{"code": 1e999, "at": "x"}',
        '{"code": 99999999999999999999999999999999}',
        '{"pid": -5, "start": NaN}',
        '{"error": ' + "[" * 900 + "]" * 900 + "}",
        '{"oom": {"counter": {"a": [1]}, "kernel_log": 7, "more": 1}}',
        '{"boot": "' + "x" * 900_000 + '"}',
        "[" * 100_000,
    ],
)
def test_a_record_of_nonsense_costs_no_other_job_its_poll(dogwatch, home: Path, text: str) -> None:
    """A job can write into the directory of its own run; the others of the machine are watched on."""
    for name in ("good", "bad"):
        assert dogwatch("run", "--detach", "--name", name, "--", "sleep", "120").returncode == 0
    (folder,) = (home / "runs").glob("bad-*")
    true = wait_until((folder / "supervisor.json").read_text)
    for name in ("worker-0.end.json", "supervisor.json", "worker-1.start.json"):
        (folder / "new").write_text(text)
        os.replace(folder / "new", folder / name)
    done = dogwatch("patrol")
    (folder / "supervisor.json").write_text(true)  # by which what was started is ended after the test
    (folder / "worker-0.end.json").unlink()
    (folder / "worker-1.start.json").unlink()
    assert "unreachable" not in done.stdout + done.stderr
    assert json.loads(dogwatch("status", "good", "--json", "--no-poll").stdout)["jobs"][0]["state"] == "running"
