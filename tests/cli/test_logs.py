"""`dogwatch logs` of a job on another host: read there, in one connection, and made harmless on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dogwatch.clock import Clock
from dogwatch.model import Evidence, Job, Known, Running
from dogwatch.store.rows import registration as register
from dogwatch.store.rows import tick
from dogwatch.store.sqlite.location import open_store
from tests.support import wait_until
from tests.transport.conftest import sshd
from tests.transport.sshd import Sshd

__all__ = ["sshd"]


@pytest.fixture
def log(dogwatch, sshd: Sshd, tmp_path: Path) -> Path:
    """The log of the job `train`, which lives on a host that ssh reaches."""
    sshd.start()
    path = tmp_path / "train.log"
    path.write_text("".join(f"step {n}/100\n" for n in range(30)))
    assert dogwatch("host", "add", "lab", "--ssh", "box", "--ssh-config", sshd.config).returncode == 0
    assert dogwatch("add", "slurm", "7", "--host", "lab", "--name", "train", "--log", path).returncode == 0
    return path


def connections(sshd: Sshd) -> int:
    return (sshd.directory / "sshd.log").read_text().count("Accepted publickey")


def test_the_last_lines_come_from_the_host_in_one_connection(dogwatch, sshd, log):
    """As many as are asked for, and the same as JSON."""
    before = connections(sshd)
    done = dogwatch("logs", "train", "-n", "2")
    assert (done.returncode, done.stdout) == (0, "step 28/100\nstep 29/100\n")
    assert connections(sshd) == before + 1
    told = json.loads(dogwatch("logs", "train", "-n", "1", "--json").stdout)
    assert told == {"ref": "lab/slurm:7", "logs": [{"path": str(log), "lines": ["step 29/100"]}]}


def test_escape_codes_of_a_foreign_log_stay_there(dogwatch, log):
    """Unless the bytes are asked for as they are."""
    log.write_text("\x1b[2J\x1b]0;owned\x07ready\r\nnext\n")
    assert dogwatch("logs", "train").stdout == "ready\nnext\n"
    assert "\x1b[2J" in dogwatch("logs", "train", "--raw").stdout


def test_it_is_followed_and_waits_for_a_host_that_goes_away(dogwatch, spawn, sshd, log, home):
    """Lines come as they are written; an outage is said once, and afterwards nothing is missing."""
    spawn("logs", "train", "-n", "1", "--follow")
    out, err = home.parent / "spawn-0.out", home.parent / "spawn-0.err"
    wait_until(lambda: "step 29/100" in out.read_text())
    with log.open("a") as file:
        file.write("step 30/100\n")
    wait_until(lambda: "step 30/100" in out.read_text(), timeout=30)
    sshd.end()
    wait_until(lambda: "still trying" in err.read_text(), timeout=30)
    with log.open("a") as file:
        file.write("step 31/100\n")
    sshd.start()
    wait_until(lambda: "step 31/100" in out.read_text(), timeout=60)
    assert "the host answers again" in err.read_text()
    assert out.read_text() == "step 29/100\nstep 30/100\nstep 31/100\n"


def test_a_log_that_slurm_named_is_read_without_being_told(dogwatch, sshd, log, home, tmp_path):
    """What a poll learnt of the job is where its log is looked for; before the first poll there is none."""
    other = tmp_path / "slurm-8.out"
    other.write_text("hello\n")
    clock, ref = Clock(), "lab/slurm:8"
    with open_store(str(home)) as store:
        register.register(store, Job(ref, "lab", "slurm", "8", "other"), clock.now(), clock.mono())
        asked = dogwatch("logs", ref)
        assert (asked.returncode, "it was not polled yet" in asked.stderr) == (2, True)
        known = Known(
            Running(clock.now()), clock.now(), "RUNNING", "", "1:0", 1, clock.now(), (Evidence("squeue", "", 0),)
        )
        detail: Any = {"logs": [str(other)]}
        update = tick.JobUpdate(ref, known, detail=detail)
        tick.commit(store, tick.Tick(clock.now(), clock.mono(), jobs=(update,)))
    assert dogwatch("logs", ref).stdout == "hello\n"


def test_what_cannot_be_read_is_told_with_the_reason(dogwatch, sshd, log):
    """A log that is not there yet is no error of the host's; a host that is away is."""
    log.unlink()
    assert "has no log yet" in dogwatch("logs", "train").stderr
    log.mkdir()
    done = dogwatch("logs", "train")
    assert (done.returncode, "is a directory" in done.stderr) == (3, True)
    sshd.end()
    done = dogwatch("logs", "train")
    assert (done.returncode, "no sshd listens there" in done.stderr) == (3, True)
