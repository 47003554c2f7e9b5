"""A watcher or a probe that stood still: its own absence is never read as the silence of a job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dogwatch.api import commands
from dogwatch.model import Expectation, Place
from dogwatch.sources.process import source
from dogwatch.store.interface import Store
from dogwatch.store.rows import events as history
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.local import Here
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller
from tests.faults.scene import alive, children, events, gated, jobs, states, watcher
from tests.support import FULL_DISK, Ahead, wait_until

TALK = "import time\nwhile True: print('on and on', flush=True); time.sleep(0.1)"


@contextmanager
def talker(log: Path, script: str = TALK) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's worker that writes a line ten times a second."""
    with log.open("wb") as file, subprocess.Popen([sys.executable, "-c", script], stdout=file) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_stopped_watcher_sees_no_stall_when_it_wakes(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """Stopped for longer than the stall timeout of a job that talks on: no finding, one poll, then all as before."""
    with talker(tmp_path / "worker_0.log") as worker:
        flags = ["--job-name", "talk", "--pid", str(worker.pid), "--log-dir", str(tmp_path), "--stall-timeout", "2"]
        daemon, _ = watcher(spawn, home)
        watch = spawn("watch", *flags)
        wait_until(lambda: jobs(dogwatch).get("talk", {}).get("state") == "running")
        confirmed = jobs(dogwatch)["talk"]["confirmed_at"]
        os.kill(daemon.pid, signal.SIGSTOP)
        time.sleep(4)  # what is tested is that time passes and nobody looks
        os.kill(daemon.pid, signal.SIGCONT)
        wait_until(lambda: jobs(dogwatch)["talk"]["confirmed_at"] > confirmed)
        later = jobs(dogwatch)["talk"]["confirmed_at"]
        wait_until(lambda: jobs(dogwatch)["talk"]["confirmed_at"] > later)
        assert jobs(dogwatch)["talk"]["state"] == "running"
        assert events(dogwatch, "finding.opened") == []
        assert watch.poll() is None


def kinds(store: Store) -> list[str]:
    return [event["kind"] for event in history.read(store) if event["body"].get("rule") != FULL_DISK]


def test_a_machine_that_slept_for_minutes_tells_its_gap_and_no_stall(home: Path, tmp_path: Path) -> None:
    """The gap is an event, the overdue look is made once, and silence limit counts only what was watched."""
    clock = Ahead()
    transport = Here("here", clock)
    poller = PlacePoller(Place("here"), transport, {source.kind: source}, clock, every=1.0)
    log = tmp_path / "log"
    once = "import time; print('once', flush=True); time.sleep(600)"
    with talker(log, once) as worker, open_store(str(home)) as store:
        wait_until(lambda: log.stat().st_size)
        expect = Expectation(logs=(str(log),), stall_timeout=4.0)
        ref = commands.add_processes(store, clock, transport, pids=[worker.pid], name="quiet", expect=expect)
        watch = Watcher(store, [poller], clock, who="test")
        watch.begin()
        watch.step()
        clock.by += 600.0
        watch.step()
        before = kinds(store)
        assert before[-1] == "watch.gap"
        assert "finding.opened" not in before
        watch.step()
        assert kinds(store) == before
        for _ in range(3):
            clock.by += 2.0
            watch.step()
        found = history.read(store)[-1]
        assert (found["kind"], found["ref"], found["body"]["rule"]) == ("finding.opened", ref, "stalled")
        watch.end()


def test_a_stopped_probe_makes_the_place_dark_and_no_job_different(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """State and evidence stay as they were, the unreachable is told once, and the watcher gets itself another probe."""
    gated(dogwatch, tmp_path / "good", 0)
    daemon, _ = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["good"]["state"] == "running")
    (probe,) = children(daemon.pid)
    os.kill(probe, signal.SIGSTOP)
    wait_until(lambda: events(dogwatch, "place.unreachable"), timeout=30)
    unreachable = jobs(dogwatch)["good"]
    assert unreachable["state"] == "running"
    assert "unreachable" in dogwatch("status", "--json", "--no-poll").stdout
    assert (
        jobs(dogwatch)["good"]["confirmed_at"]
        == unreachable["confirmed_at"]
        < events(dogwatch, "place.unreachable")[0]["at"]
    )
    wait_until(lambda: not alive(probe))
    wait_until(lambda: events(dogwatch, "place.answered"), timeout=30)
    wait_until(lambda: jobs(dogwatch)["good"]["confirmed_at"] > unreachable["confirmed_at"])
    (tmp_path / "good").touch()
    wait_until(lambda: jobs(dogwatch)["good"]["state"] == "ended")
    assert states(dogwatch, "good") == ["running", "succeeded"]
    assert [event["kind"] for event in events(dogwatch, "place.unreachable", "place.answered")] == [
        "place.unreachable",
        "place.answered",
    ]


def test_a_stopped_supervisor_delays_the_ending_and_does_not_change_it(
    dogwatch, spawn, home: Path, tmp_path: Path
) -> None:
    """A worker that nobody has reaped yet is not "ended, outcome unknown": its supervisor lives and will tell."""
    gated(dogwatch, tmp_path / "bad", 3)
    watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "running")
    (record,) = home.glob("runs/*/supervisor.json")
    supervisor = json.loads(record.read_text())["pid"]
    os.kill(supervisor, signal.SIGSTOP)
    (worker,) = children(supervisor)
    (tmp_path / "bad").touch()
    wait_until(lambda: not alive(worker))
    looks = place_looks(dogwatch)
    wait_until(lambda: place_looks(dogwatch) >= looks + 2)
    assert jobs(dogwatch)["bad"]["state"] == "running"
    os.kill(supervisor, signal.SIGCONT)
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "ended")
    assert states(dogwatch, "bad") == ["running", "failed"]
    assert jobs(dogwatch)["bad"]["exit_code"] == 3


def place_looks(dogwatch) -> int:
    """How often this machine was looked at."""
    return json.loads(dogwatch("status", "--json", "--no-poll").stdout)["places"][0]["polls"]
