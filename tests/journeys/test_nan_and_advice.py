"""A loss that is no number is the cause of an ending, and what is advised can be done."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import wait_until

TRAINS = "for i in 1 2 3; do echo step $i/100 loss 0.$i; done; echo step 4/100 loss nan; echo '{}'; exit 0"
COMMAND = re.compile(r"dogwatch ([a-z]+(?: [^\s;,]+)*)")


@pytest.mark.parametrize(
    "line", ["NaN detected in loss, aborting", "Loss is nan, stopping training", "Detected NaN gradient, exiting"]
)
def test_a_run_that_aborts_because_of_nan_has_failed(dogwatch, line: str) -> None:
    """Exit code 0 is no success then: `run` ends with 1, and the cause is loss_nan with the line that says so."""
    done = dogwatch("run", "--name", "train", "--", "sh", "-c", TRAINS.format(line))
    assert done.returncode == 1, done.stdout
    assert "loss_nan" in done.stdout
    found = json.loads(dogwatch("why", "train", "--json").stdout)
    assert found["cause"] == "loss_nan"
    assert found["evidence"][0]["text"] == line
    assert dogwatch("wait", "train").returncode == 1


def test_a_log_alone_tells_it_too(dogwatch, tmp_path: Path) -> None:
    """`why LOG` needs no job, with or without the exit code."""
    log = tmp_path / "train.log"
    log.write_text("step 1/9 loss 0.5\nstep 2/9 loss inf\nloss=inf, stopping\n")
    for more in ([], ["--exit-code", "0"], ["--exit-code", "1"]):
        assert json.loads(dogwatch("why", "--log", log, "--json", *more).stdout)["cause"] == "loss_nan", more
    log.write_text("step 1/9 loss nan\nNaN in loss, skipping step\nstep 9/9 loss 0.4\nTraining finished\n")
    assert json.loads(dogwatch("why", "--log", log, "--json", "--exit-code", "0").stdout)["cause"] is None


def advised(dogwatch, name: str) -> list[list[str]]:
    told = json.loads(dogwatch("why", name, "--json").stdout)["advice"]
    assert not any(re.search(r"\bREF\b", line) for line in told), told
    return [shlex.split(found[1]) for line in told for found in COMMAND.finditer(line)]


def test_what_is_advised_of_a_dead_worker_can_be_done(dogwatch, spawn, tmp_path: Path) -> None:
    """One of two foreign workers is gone: every command that `why` advises works and shows that worker."""
    code = "import sys, time\nprint('Processed 1/9 items', flush=True)\ntime.sleep(60)"
    started = []
    for i in range(2):
        with (tmp_path / f"worker_{i}.log").open("w") as log:
            started.append(subprocess.Popen([sys.executable, "-c", code], stdout=log, stdin=subprocess.DEVNULL))
    try:
        pids = [str(process.pid) for process in started]
        added = dogwatch("add", "process", *pids, "--log", tmp_path / "worker_*.log", "--name", "pair")
        assert added.returncode == 0, added.stderr
        spawn("daemon")
        wait_until(lambda: "running" in dogwatch("status", "pair").stdout)
        started[1].kill()
        started[1].wait()
        wait_until(lambda: "1 of 2 workers" in dogwatch("why", "pair").stdout)
        commands = advised(dogwatch, "pair")
        assert any("--worker" in words for words in commands), commands
        for words in commands:
            done = dogwatch(*words)
            assert done.returncode == 0, (words, done.stderr)
            assert "Processed 1/9" in done.stdout
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_worker_that_is_not_there_is_answered_with_those_that_are(dogwatch) -> None:
    """`logs --worker 7` of a job with two workers says which there are."""
    dogwatch("run", "--name", "two", "--workers", "2", "--", "echo", "hello")
    refused = dogwatch("logs", "two", "--worker", "7")
    assert refused.returncode == 2
    assert "has no worker 7 (it has 2, from 0)" in refused.stderr
    assert "workers with logs of their own: 0, 1" in refused.stderr


def test_waiting_for_workers_that_never_came_ends(dogwatch, tmp_path: Path) -> None:
    """The launch failed: `wait` says that the job cannot start, and `why` does not advise it."""
    flags = ["--job-name", "nobody-has-this-name", "--num-workers", "2", "--check-interval", "1"]
    assert dogwatch("watch", *flags, "--launch-timeout", "2").returncode == 1
    waited = dogwatch("wait", "nobody-has-this-name", "--for", "running")
    assert waited.returncode == 1
    assert "nobody-has-this-name: no worker started within 2 s" in waited.stderr
    assert all(words[0] != "wait" for words in advised(dogwatch, "nobody-has-this-name"))
