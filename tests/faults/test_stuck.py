"""Real workers that hang, and real workers that only look so: one verdict, with the evidence it rests on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dogwatch.api import commands
from dogwatch.model import Expectation, Place
from dogwatch.sources.process import source
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.local import Here
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller
from tests.faults.scene import events, jobs, watcher
from tests.support import Ahead
from tests.support import wait_until as wait_a_little

LIMIT = 3.0
wait_until = partial(wait_a_little, timeout=60.0)  # each question starts a program, on a machine that may be busy
COUNTS = "import os, sys, time\nfor i in range(5): print(f'step {i}/1000', flush=True)\n"
SLEEPS = (
    COUNTS + "while not os.path.exists(sys.argv[1]): time.sleep(0.1)\nprint('step 6/1000', flush=True)\ntime.sleep(600)"
)
SPINS = COUNTS + "while True: pass"
# A parent waits for its vforked child in the kernel, where no signal but the last one reaches it.
IN_THE_KERNEL = COUNTS + "import ctypes\nif ctypes.CDLL(None).vfork() == 0: time.sleep(600)\nos._exit(0)"
BUFFERS = (
    "import sys, time\n"
    "log = open(1, 'w', buffering=65536, closefd=False)\n"
    "for i in range(10**6):\n"
    "    log.write(f'step {i}/1000000\\n')\n"
    "    with open(sys.argv[1], 'ab') as file: file.write(bytes(1000))\n"
    "    time.sleep(0.2)"
)
WRITES = COUNTS + (
    "with open(sys.argv[1], 'wb', buffering=0) as file:\n"
    "    while True: file.seek(0); file.write(bytes(1 << 20)); time.sleep(0.05)"
)


def start(dogwatch, script: str, path: Path, *flags: str) -> str:
    """A kept worker with the least silence limit; `path` is its argument. Returns its ref."""
    command = ["--", sys.executable, "-c", script, str(path)]
    done = dogwatch("run", "--detach", "--name", "job", "--stall-timeout", str(LIMIT), *flags, *command)
    assert done.returncode == 0, done.stderr
    return str(done.stdout.strip())


def verdict(dogwatch) -> dict:
    return jobs(dogwatch)["job"]["verdict"] or {"word": None, "evidence": [], "silent_seconds": 0.0}


def findings(dogwatch) -> list[tuple[str, str]]:
    return [(found["rule"], found["level"]) for found in jobs(dogwatch)["job"]["findings"]]


def says(dogwatch, by: str) -> str:
    return next((witness["says"] for witness in verdict(dogwatch)["evidence"] if witness["by"] == by), "")


def test_a_worker_that_sleeps_for_ever_is_stalled_until_it_moves(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """The finding is critical, every interface has the word and the evidence, and it resolves by itself."""
    ref = start(dogwatch, SLEEPS, tmp_path / "gate")
    watcher(spawn, home)
    wait_until(lambda: findings(dogwatch) == [("stalled", "critical")])
    assert "stalled" in dogwatch("ls").stdout
    page = dogwatch("status", ref).stdout
    assert "stalled for" in page
    assert "progress: has not moved for" in page
    assert "1 process, 0.0" in says(dogwatch, "processes")
    (tmp_path / "gate").touch()
    wait_until(lambda: verdict(dogwatch)["word"] == "working")
    assert "stalled" in [event["body"]["rule"] for event in events(dogwatch, "finding.resolved")]
    assert findings(dogwatch) == []


def test_a_worker_that_was_stopped_is_stalled_until_it_is_continued(
    dogwatch, spawn, home: Path, tmp_path: Path
) -> None:
    """Though it talked to its last moment."""
    start(dogwatch, "import time\nwhile True: print('on and on', flush=True); time.sleep(0.1)", tmp_path)
    watcher(spawn, home)
    wait_until(lambda: verdict(dogwatch)["word"] == "working")
    worker = jobs(dogwatch)["job"]["workers"][0]["pid"]
    os.kill(worker, signal.SIGSTOP)
    wait_until(lambda: ("stalled", "critical") in findings(dogwatch))
    assert "all its processes are stopped" in jobs(dogwatch)["job"]["verdict"]["why"]
    os.kill(worker, signal.SIGCONT)
    wait_until(lambda: findings(dogwatch) == [])


@pytest.mark.parametrize(
    ("script", "witness"),
    [(SPINS, "1 process"), (IN_THE_KERNEL, "in uninterruptible sleep")],
    ids=["busy loop", "in the kernel"],
)
def test_a_worker_that_spins_or_hangs_in_the_kernel_is_stalled_too(
    dogwatch, spawn, home: Path, tmp_path: Path, script: str, witness: str
) -> None:
    """Using the CPU is no excuse, and the process table says what it saw."""
    start(dogwatch, script, tmp_path)
    watcher(spawn, home)
    wait_until(lambda: findings(dogwatch) == [("stalled", "critical")])
    assert witness in says(dogwatch, "processes")
    assert "no progress, log or file activity since" in verdict(dogwatch)["why"]


def test_a_buffered_log_beside_a_growing_checkpoint_is_work(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """However long nothing reaches the log."""
    start(dogwatch, BUFFERS, tmp_path / "model.ckpt", "--checkpoint", str(tmp_path / "*.ckpt"))
    watcher(spawn, home)

    def log_is_quiet() -> bool:
        found = verdict(dogwatch)
        assert found["word"] in (None, "working")
        return any(one["by"] == "log" and one["quiet_seconds"] > 3 * LIMIT for one in found["evidence"])

    wait_until(log_is_quiet, pause=0.3)
    assert events(dogwatch, "finding.opened") == []


def test_a_silent_worker_that_writes_is_silent_but_busy(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """A warning, for as long as the bytes flow; not a stall, even beyond the limit."""
    start(dogwatch, WRITES, tmp_path / "scratch")
    watcher(spawn, home)
    wait_until(lambda: verdict(dogwatch)["silent_seconds"] > 3 * LIMIT, pause=0.3)
    assert verdict(dogwatch)["word"] == "silent but busy"
    assert findings(dogwatch) == [("silent", "warning")]
    assert "stalled" not in [event["body"]["rule"] for event in events(dogwatch, "finding.opened")]


@pytest.fixture
def talker(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's worker that writes a line ten times a second."""
    script = "import time\nwhile True: print('on and on', flush=True); time.sleep(0.1)"
    with (tmp_path / "log").open("wb") as log, subprocess.Popen([sys.executable, "-c", script], stdout=log) as process:
        yield process
        process.send_signal(signal.SIGCONT)
        process.kill()


def look_after_a_word(watch: Watcher, clock: Ahead, log: Path) -> None:
    """The next poll, a second later and with something new in the log."""
    size = log.stat().st_size
    wait_until(lambda: log.stat().st_size > size)
    clock.by += 1.0
    watch.step()


def test_a_lid_that_was_closed_over_worker_and_watcher_is_no_stall(
    home: Path, tmp_path: Path, talker: subprocess.Popen[bytes]
) -> None:
    """Both slept; nobody looked, so nothing was silent."""
    log, clock = tmp_path / "log", Ahead()
    transport = Here("here", clock)
    poller = PlacePoller(Place("here"), transport, {source.kind: source}, clock, every=1.0)
    with open_store(str(home)) as store:
        expect = Expectation(logs=(str(log),), stall_timeout=LIMIT)
        ref = commands.add_processes(store, clock, transport, pids=[talker.pid], name="job", expect=expect)
        watch = Watcher(store, [poller], clock, who="test")
        watch.begin()
        for _ in range(3):
            look_after_a_word(watch, clock, log)
        os.kill(talker.pid, signal.SIGSTOP)
        clock.by += 8 * 3600.0
        watch.step()  # the first poll after waking may come before the worker's first word
        os.kill(talker.pid, signal.SIGCONT)
        for _ in range(3):
            look_after_a_word(watch, clock, log)
        (job,) = job_rows.documents(store, refs=[ref])
        assert (job["verdict"] or {"word": ""})["word"] == "working"
        assert not [found for found in job["findings"] if found["rule"] == "stalled"]
        watch.end()
    assert json.dumps(job["verdict"])
