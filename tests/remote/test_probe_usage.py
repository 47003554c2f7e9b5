"""What a job's processes use, of the whole family and of nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from tests.support import wait_until


@contextmanager
def started(script: str, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process in a session of its own, as a kept worker is; nothing of it is left."""
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True, **how) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, 9)


def usage(here: Here, *pids: int) -> dict[str, Any]:
    answer = here.ask({"usage": {"job": list(pids)}})
    assert isinstance(answer, Answer), answer
    assert answer.body["usage"]["ok"] is True
    row: dict[str, Any] = answer.body["usage"]["job"]
    return row


BURN = "sum(i * i for i in range(10**6))"
WRITER = f"""
import os
fd = os.memfd_create("x")
while True:
    {BURN}
    os.write(fd, bytes(1 << 20))
    os.lseek(fd, 0, 0)
"""
SHELL = f"import subprocess, sys; subprocess.run(['sh', '-c', '\"$@\"; true', 'sh', sys.executable, '-c', {WRITER!r}])"
LOOP = f"""
import subprocess, sys
while True:
    subprocess.run([sys.executable, "-c", {BURN!r}])
"""
ORPHAN = """
import os, time
if os.fork() == 0:
    if os.fork():
        os._exit(0)
    time.sleep(600)
os.wait()
time.sleep(600)
"""


def test_cpu_and_bytes_of_grandchildren_count(here: Here) -> None:
    """A worker may be a shell whose children do all the work."""
    with started(SHELL) as worker:
        wait_until(lambda: usage(here, worker.pid)["processes"] >= 3)
        first = usage(here, worker.pid)
        wait_until(lambda: usage(here, worker.pid)["cpu"] > first["cpu"] + 0.2)
        wait_until(lambda: usage(here, worker.pid)["write"] >= first["write"] + (1 << 20))
        assert usage(here, worker.pid)["unread"] == 0


def test_what_children_used_before_they_were_reaped_is_not_lost(here: Here) -> None:
    """A loop of short commands works too."""
    with started(LOOP) as worker:
        first = usage(here, worker.pid)
        wait_until(lambda: usage(here, worker.pid)["cpu"] > first["cpu"] + 0.3)


def test_a_process_that_was_left_in_the_session_belongs_to_it(here: Here) -> None:
    """Its parent is gone, and it still works for the job."""
    with started(ORPHAN) as worker:
        wait_until(lambda: usage(here, worker.pid)["processes"] == 2)


def test_other_peoples_processes_do_not_count(here: Here) -> None:
    """Not even our own, which the worker's parent is."""
    with started("import time; time.sleep(600)") as worker, started(f"while True: {BURN}"):
        wait_until(lambda: usage(here, worker.pid)["processes"] == 1)
        found = usage(here, worker.pid)
        assert found["cpu"] < 5.0
        assert found["age"] >= 0


def test_a_stopped_family_is_told_as_such_and_a_vanished_one_is_nobody(here: Here) -> None:
    """Nothing is made up for a pid that is not there."""
    with started("import time; time.sleep(600)") as worker:
        os.kill(worker.pid, 19)
        wait_until(lambda: usage(here, worker.pid)["stopped"] == 1)
    assert usage(here, worker.pid)["processes"] == 0


@pytest.mark.parametrize("spec", [{"pid": 1}, ["1"], [0], [True], "1"])
def test_what_is_no_list_of_pids_is_refused(here: Here, spec: Any) -> None:
    """With a sentence, and the probe lives on."""
    answer = here.ask({"usage": {"job": spec}})
    assert "error" in answer.body if isinstance(answer, Answer) else answer.why
    assert usage(here, os.getpid())["processes"] >= 1
