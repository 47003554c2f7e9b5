"""`ls` and `status` are true without a watcher: they poll by themselves, for two seconds at most."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wait_until
from tests.transport.conftest import sshd

__all__ = ["sshd"]


def start(dogwatch, name: str, *command: str) -> str:
    done = dogwatch("run", "--detach", "--name", name, "--", *command)
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


def polls() -> list[str]:
    """The polls that are under way on this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:  # it ended meanwhile
            continue
        found += [path.parent.name] if "dogwatch.cli.poll_once" in words else []
    return found


def of_home(home: Path) -> list[str]:
    """The polls that work in this home."""
    mine = f"DOGWATCH_HOME={home}".encode()

    def environment(pid: str) -> list[bytes]:
        try:
            return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return []

    return [pid for pid in polls() if mine in environment(pid)]


def test_the_list_is_true_without_a_watcher(dogwatch):
    """A job that nobody watched and that has failed is shown as failed; --no-poll shows what was stored."""
    ref = start(dogwatch, "train", "sh", "-c", "exit 3")
    assert "not polled yet" in dogwatch("ls", "--no-poll").stdout
    wait_until(lambda: "failed" in dogwatch("ls", "--all").stdout)
    assert "exit code 3" in dogwatch("status", ref, "--no-poll").stdout


def test_an_alert_that_the_list_finds_is_sent(dogwatch, receiver):
    """The poll of `ls` is one like any other: what it finds goes out on the channels."""
    added = dogwatch("alerts", "add", "webhook", receiver.url)
    assert added.returncode == 0, added.stderr
    start(dogwatch, "train", "sh", "-c", "exit 3")
    wait_until(lambda: "failed" in dogwatch("ls", "--all").stdout)
    wait_until(lambda: any("train" in name for name in receiver.names()))


def test_beside_a_watcher_nothing_is_polled(dogwatch, spawn, home):
    """The watcher's own poll is what is shown, and no second one is started."""
    start(dogwatch, "train", "sleep", "600")
    spawn("daemon")
    wait_until(lambda: json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["watch"]["alive"])
    wait_until(lambda: "running" in dogwatch("ls", "--no-poll").stdout)
    done = dogwatch("ls")
    assert (done.returncode, of_home(home)) == (0, [])
    assert "no watcher is running" not in done.stderr


@pytest.fixture
def silent(dogwatch, sshd) -> Iterator[None]:
    """A job on each of three hosts that take connections and never say a word."""
    sshd.start()
    for name in ("one", "two", "three"):
        added = dogwatch("host", "add", name, "--ssh", "box", "--ssh-config", sshd.config, "--floor", "1s")
        assert added.returncode == 0, added.stderr
    sshd.end()
    for number, name in enumerate(("one", "two", "three")):
        assert dogwatch("add", "slurm", 7 + number, "--host", name, "--name", f"job-{name}").returncode == 0
    with socket.create_server(("127.0.0.1", sshd.port), backlog=64):
        yield


def test_hosts_that_hang_cost_two_seconds_together(dogwatch, silent, home):
    """The local job is polled, three hung hosts are named, the poll ends by itself and is then known as unreachable."""
    start(dogwatch, "here", "sleep", "600")
    began = time.monotonic()
    done = dogwatch("ls")
    assert done.returncode == 0
    assert time.monotonic() - began < 2 + 4  # two seconds, and what starting Python takes on a busy machine
    assert "one, two, three: no answer within 2 s" in done.stderr.replace("here, ", "")
    wait_until(lambda: not of_home(home), timeout=60, pause=0.2)
    listed = dogwatch("ls", "--no-poll").stdout
    assert listed.count("unreachable since") == 3
    jobs = {job["name"]: job for job in json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["jobs"]}
    assert (jobs["here"]["state"], jobs["here"]["unreachable"]) == ("running", None)
    assert "sent nothing" in jobs["job-one"]["unreachable"]["why"]


def test_ctrl_c_ends_the_waiting_and_harms_nothing(dogwatch, spawn, silent, home):
    """130 at once, without a traceback; the poll that it waited for still ends by itself, whole."""
    asked = spawn("ls", stderr=subprocess.PIPE)
    wait_until(lambda: of_home(home), timeout=10)
    asked.send_signal(signal.SIGINT)
    assert asked.wait(timeout=10) == 130
    assert asked.stderr.read() == ""
    wait_until(lambda: not of_home(home), timeout=60, pause=0.2)
    assert len(json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["jobs"]) == 3
