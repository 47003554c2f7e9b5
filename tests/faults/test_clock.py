"""The wall clock set a day forward or back under a running watcher: timers, silence limit and durations do not care."""

from __future__ import annotations

import glob
import json
import re
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from dogwatch.clock import Clock
from tests.conftest import needs_tool
from tests.faults.scene import events, jobs, negatives, states, watcher
from tests.support import wait_until

pytestmark = needs_tool("faketime")
NEGATIVE = re.compile(r"\s-\d")
DAY = 86400.0

# Logs, counts and writes an output ten times a second until its gate opens.
BUSY = """
import os, sys, time
gate, output = sys.argv[1:]
step = 0
while not os.path.exists(gate):
    step += 1
    print(f"Processed {step}/100000 items", flush=True)
    with open(output, "a") as file:
        file.write("one more line\\n")
    time.sleep(0.1)
sys.exit(6)
"""


@pytest.fixture
def dial(tmp_path: Path) -> Callable[[str], None]:
    """Sets the clock of whatever was started with `moved`."""

    def turn(offset: str) -> None:
        (tmp_path / "dial.new").write_text(f"{offset}\n")
        (tmp_path / "dial.new").rename(tmp_path / "dial")

    turn("+0")
    return turn


def moved(tmp_path: Path) -> dict[str, str]:
    """The environment of a process whose wall clock follows the dial, and whose monotonic clocks are true."""
    (library,) = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    return {
        "LD_PRELOAD": library,
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "dial"),
    }


def seen_at(job: dict) -> float:
    return datetime.fromisoformat(job["confirmed_at"]).timestamp()


def look_twice(dogwatch, shift: float) -> None:
    """Wait until the watcher has looked by a clock that is off by `shift`, and has looked on after that."""
    wait_until(lambda: abs(seen_at(jobs(dogwatch)["busy"]) - Clock().now() - shift) < 60)
    first = seen_at(jobs(dogwatch)["busy"])
    wait_until(lambda: seen_at(jobs(dogwatch)["busy"]) > first + 2)


@pytest.mark.parametrize("offset", ["-1d", "+1d"])
def test_a_clock_moved_by_a_day_stalls_nothing_and_ends_nothing(
    dogwatch, spawn, home: Path, tmp_path: Path, dial: Callable[[str], None], offset: str
) -> None:
    """No finding, no negative duration, timers that fire, a sane estimate, and the right ending."""
    output, gate = tmp_path / "out.json", tmp_path / "gate"
    (tmp_path / "out_still.json").write_text("written once")
    command = [sys.executable, "-c", BUSY, str(gate), str(output)]
    flags = ["--detach", "--name", "busy", "--output", f"{tmp_path}/out*.json"]
    assert dogwatch("run", *flags, "--", *command).returncode == 0
    watcher(spawn, home, env=moved(tmp_path))
    wait_until(lambda: (jobs(dogwatch)["busy"].get("eta") or {}).get("remaining_seconds"))
    before = jobs(dogwatch)["busy"]
    documents = [before]
    for turned in (offset, "+0"):
        dial(turned)
        look_twice(dogwatch, {"+1d": DAY, "-1d": -DAY, "+0": 0.0}[turned])
        documents.append(jobs(dogwatch)["busy"])
        assert dogwatch("ls").returncode == dogwatch("status", "busy").returncode == 0
        assert not NEGATIVE.search(dogwatch("ls").stdout)
    for job in documents:
        assert (job["state"], job["findings"], negatives(job)) == ("running", [], [])
        assert 0.3 < job["progress"]["rate"] / before["progress"]["rate"] < 3
        assert job["eta"]["high_seconds"] < 20 * before["eta"]["high_seconds"]
        assert max(output["quiet_seconds"] for output in job["outputs"]) < 60
    gate.touch()
    wait_until(lambda: jobs(dogwatch)["busy"]["state"] == "ended")
    assert states(dogwatch, "busy") == ["running", "failed"]
    assert jobs(dogwatch)["busy"]["exit_code"] == 6
    assert events(dogwatch, "place.unreachable", "watch.gap") == []


def test_a_watcher_after_one_with_another_clock_looks_on(
    dogwatch, spawn, home: Path, tmp_path: Path, dial: Callable[[str], None]
) -> None:
    """What was written while the clock was a day ahead forbids no poll and makes no negative gap."""
    gate = tmp_path / "gate"
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    dogwatch("run", "--detach", "--name", "job", "--", "sh", "-c", script)
    dial("+1d")
    daemon, _ = watcher(spawn, home, env=moved(tmp_path))
    wait_until(lambda: jobs(dogwatch)["job"]["state"] == "running")
    daemon.kill()
    daemon.wait()
    gate.touch()
    looked = json.loads(dogwatch("patrol", "--json").stdout)
    assert looked["polled"] == ["here"]
    wait_until(lambda: dogwatch("patrol").returncode == 0 and jobs(dogwatch)["job"]["state"] == "ended")
    assert negatives(jobs(dogwatch)["job"]) == []
    assert not NEGATIVE.search(dogwatch("ls", "--all").stdout)
