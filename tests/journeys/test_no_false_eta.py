"""A job that cannot finish has no estimate: the screens, the plain lines and the JSON say why instead."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import wait_until

# Counts up to its own total at a steady pace, and obeys a file: `hang` makes one worker stand still.
WORKER = """
import os, sys, time
me, total, folder = os.environ.get("DOGWATCH_WORKER") or sys.argv[3], int(sys.argv[1]), sys.argv[2]
for done in range(1, total + 1):
    while os.path.exists(f"{folder}/hang") or os.path.exists(f"{folder}/hang{me}"):
        time.sleep(0.1)
    print(f"Processed {done}/{total} items", flush=True)
    time.sleep(0.1)
"""
SURE = re.compile(r"done in|\d+ % range")


@pytest.fixture
def worker(tmp_path: Path) -> list[str]:
    (tmp_path / "worker.py").write_text(WORKER)
    return [sys.executable, str(tmp_path / "worker.py")]


def job(dogwatch, name: str) -> dict[str, Any]:
    """The job document, empty before it is registered."""
    found = json.loads(dogwatch("ls", "--json").stdout)["jobs"]
    return next((dict(one) for one in found if one["name"] == name), {})


def with_estimate(dogwatch, name: str) -> dict[str, Any]:
    """The job, once it is said when it will be done."""
    wait_until(lambda: (job(dogwatch, name).get("eta") or {}).get("at"), timeout=40, pause=0.5)
    return job(dogwatch, name)


def test_a_worker_that_is_killed_turns_the_estimate_into_cannot_finish(dogwatch, spawn, tmp_path, worker) -> None:
    """`ls`, `status`, the plain lines and the JSON name the worker, and its rate is not shown any more."""
    spawn("run", "--name", "embed", "--workers", "4", "--", *worker, "3000", tmp_path)
    before = with_estimate(dogwatch, "embed")
    assert "done in" in dogwatch("status", "embed").stdout
    os.kill(before["workers"][2]["pid"], signal.SIGKILL)
    wait_until(lambda: "cannot finish: worker 2 exited" in dogwatch("status", "embed").stdout, timeout=30, pause=0.5)
    after = job(dogwatch, "embed")
    assert after["eta"] is None
    assert after["no_eta_reason"] == "cannot finish: worker 2 exited"
    assert after["workers"][2]["rate"] is None
    assert not SURE.search(dogwatch("status", "embed").stdout)
    assert "cannot finish" in dogwatch("ls").stdout
    lines = tmp_path / "spawn-0.out"
    wait_until(lambda: "cannot finish: worker 2 exited" in lines.read_text(), timeout=45, pause=0.5)
    assert not SURE.search(lines.read_text().splitlines()[-1])


def test_a_worker_that_finished_its_share_leaves_the_estimate_alone(dogwatch, spawn, tmp_path) -> None:
    """Worker 0 did all of its own items and left with exit code 0; the others still have theirs to do."""
    script = tmp_path / "uneven.py"
    script.write_text(WORKER.replace("int(sys.argv[1])", "30 if os.environ['DOGWATCH_WORKER'] == '0' else 3000"))
    spawn("run", "--name", "uneven", "--workers", "3", "--", sys.executable, script, "0", tmp_path)
    wait_until(lambda: any(one["outcome"] for one in job(dogwatch, "uneven").get("workers", ())), timeout=40, pause=0.5)
    assert with_estimate(dogwatch, "uneven")["no_eta_reason"] is None


def test_a_job_that_stands_still_past_its_limit_is_stalled_and_not_nearly_done(
    dogwatch, spawn, tmp_path, worker
) -> None:
    """The owner allows five seconds without progress; before they are over the estimate stands, after them it does
    not, and it is back when the job goes on."""
    dogwatch("run", "--detach", "--name", "tidy", "--stall-timeout", "5", "--", *worker, "3000", tmp_path)
    spawn("daemon")
    with_estimate(dogwatch, "tidy")
    (tmp_path / "hang").touch()
    wait_until(lambda: job(dogwatch, "tidy")["no_eta_reason"] == "stalled", timeout=40, pause=0.5)
    shown = dogwatch("status", "tidy").stdout
    assert "stalled" in shown
    assert not SURE.search(shown)
    assert "stalled" in dogwatch("ls").stdout
    (tmp_path / "hang").unlink()
    assert with_estimate(dogwatch, "tidy")["no_eta_reason"] is None


def test_a_suspended_job_has_no_estimate(dogwatch, spawn, tmp_path, worker) -> None:
    """All its processes were stopped by a signal: it says suspended at once, and estimates again when continued."""
    spawn("run", "--name", "held", "--workers", "2", "--", *worker, "3000", tmp_path)
    pids = [one["pid"] for one in with_estimate(dogwatch, "held")["workers"]]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: job(dogwatch, "held")["no_eta_reason"] == "suspended", timeout=40, pause=0.5)
    assert not SURE.search(dogwatch("status", "held").stdout)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    assert with_estimate(dogwatch, "held")["no_eta_reason"] is None


def test_the_monitor_form_names_the_foreign_worker_that_died(dogwatch, spawn, tmp_path, worker) -> None:
    """Workers that a launch script started, attached to by worker_pids.txt."""
    logs = tmp_path / "logs"
    logs.mkdir()
    started = []
    for index in range(3):
        log = (logs / f"worker_{index}.log").open("w")
        started.append(subprocess.Popen([*worker, "2000", str(tmp_path), str(index)], stdout=log, stderr=log))
        log.close()
    try:
        (logs / "worker_pids.txt").write_text("".join(f"{one.pid}\n" for one in started))
        flags = ("--num-workers", "3", "--log-dir", logs, "--total-items", "6000", "--check-interval", "1")
        spawn("watch", "--job-name", "embed", *flags)
        with_estimate(dogwatch, "embed")
        started[1].kill()
        started[1].wait()
        wait_until(lambda: job(dogwatch, "embed").get("no_eta_reason"), timeout=30, pause=0.5)
        assert job(dogwatch, "embed")["no_eta_reason"] == "cannot finish: worker 1 exited"
        assert not SURE.search(dogwatch("status", "embed").stdout)
    finally:
        for one in started:
            one.kill()
            one.wait()
