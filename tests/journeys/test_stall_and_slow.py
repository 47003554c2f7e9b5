"""A job that stops or slows down reaches people within minutes, in the monitor form; time is sped up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.fast import Fast
from tests.support import jobs, wait_until

RATE = 100
# Counts up; obeys files: while `hang` is there it stands, while `slow` is there it takes six times as long for an item.
WORKER = """
import os, sys, time
folder, talks = sys.argv[1], len(sys.argv) > 2
for done in range(1, 1_000_001):
    while os.path.exists(f"{folder}/hang"):
        time.sleep(5)
        if talks:
            print("waiting for the server", flush=True)
    print(f"Processed {done * 10}/1000000 items", flush=True)
    time.sleep(30 if os.path.exists(f"{folder}/slow") else 5)
"""


class Monitored:
    """A foreign worker with its log, and the alerts that arrived."""

    def __init__(self, folder: Path, fast: Fast, dogwatch, spawn, environment: dict[str, str], receiver) -> None:
        self.folder, self.fast, self.dogwatch, self.spawn, self.receiver = folder, fast, dogwatch, spawn, receiver
        self.logs, self.environment = folder / "logs", environment
        self.worker: subprocess.Popen[bytes] | None = None
        self.logs.mkdir()

    def start(self, *flags: object, talks: bool = False) -> subprocess.Popen[str]:
        """Start the worker, then `dogwatch watch --job-name …`; its Popen."""
        self.dogwatch("alerts", "add", "webhook", self.receiver.url)
        argv = [sys.executable, "-c", WORKER, str(self.folder), *(["talks"] if talks else [])]
        with (self.logs / "worker_0.log").open("w") as log:
            self.worker = subprocess.Popen(argv, stdout=log, stderr=log, env=self.environment)
        given = ["--pid", self.worker.pid, "--num-workers", 1, "--log-dir", self.logs, "--total-items", 1000000]
        watch: subprocess.Popen[str] = self.spawn("watch", "--job-name", "embed", *given, "--check-interval", 5, *flags)
        wait_until(lambda: self.job().get("progress"))
        return watch

    def do(self, what: str, *, on: bool = True) -> None:
        path = self.folder / what
        path.touch() if on else path.unlink()

    def job(self) -> dict[str, Any]:
        return jobs(self.dogwatch).get("embed", {})

    def alerts(self, rule: str) -> list[str]:
        """The level of each alert of this rule that arrived, `resolved` for a good one."""
        told = [one for got in list(self.receiver.got) for one in got.json["jobs"] if one["rule"] == rule]
        return ["resolved" if one["resolved"] else one["level"] for one in told]

    def count_for(self, seconds: float) -> None:
        """Let it count for so long; its log is asked, since a command of ours would hold the clock while it works."""
        log = self.logs / "worker_0.log"
        wait_until(lambda: log.read_text().count("items") >= seconds / 5, timeout=40, pause=0.05)


@pytest.fixture
def monitored(fast: Fast, tmp_path, dogwatch, spawn, environment, receiver) -> Iterator[Monitored]:
    made = Monitored(tmp_path, fast, dogwatch, spawn, environment, receiver)
    yield made
    if made.worker is not None:
        made.worker.kill()
        made.worker.wait()


def test_five_minutes_without_progress_give_one_warning_in_the_monitor_form(monitored: Monitored) -> None:
    """Its own silence limit is not reached: no critical alert and no end of the watch; resolved when it goes on."""
    watch = monitored.start()
    with monitored.fast(RATE):
        monitored.count_for(90)
        monitored.do("hang")
        began = monitored.fast.ahead
        wait_until(lambda: monitored.alerts("stalled"), timeout=60, pause=0.2)
        waited = monitored.fast.ahead - began
    assert monitored.alerts("stalled") == ["warning"]
    assert 280 <= waited < 580
    assert watch.poll() is None
    assert "sure" not in monitored.dogwatch("status", "embed").stdout
    monitored.do("hang", on=False)
    with monitored.fast(RATE):
        wait_until(lambda: len(monitored.alerts("stalled")) > 1, timeout=60, pause=0.2)
    assert monitored.alerts("stalled") == ["warning", "resolved"]


def test_an_explicit_stall_timeout_gives_a_critical_alert_and_exit_code_1(monitored: Monitored) -> None:
    """The warning comes first, at five minutes; then the limit that the owner gave. A log that goes on saying that it
    waits is no progress."""
    watch = monitored.start("--stall-timeout", 400, talks=True)
    with monitored.fast(RATE):
        monitored.count_for(90)
        monitored.do("hang")
        assert watch.wait(timeout=60) == 1
    assert monitored.job()["no_eta_reason"] == "stalled"
    assert monitored.alerts("stalled") == ["warning", "critical"]


def test_a_job_that_is_six_times_slower_is_reported_within_minutes(monitored: Monitored) -> None:
    """Two minutes at full speed, then fourteen at a sixth of it: a warning before they are over; resolved when it is as
    quick as before for some minutes."""
    monitored.start()
    with monitored.fast(RATE):
        monitored.count_for(120)
        monitored.do("slow")
        began = monitored.fast.ahead
        wait_until(lambda: monitored.alerts("slow"), timeout=60, pause=0.2)
        waited = monitored.fast.ahead - began
        assert waited < 600
        assert "slow" in monitored.dogwatch("status", "embed").stdout
        monitored.do("slow", on=False)
        wait_until(lambda: len(monitored.alerts("slow")) > 1, timeout=90, pause=0.3)
    assert monitored.alerts("slow") == ["warning", "resolved"]
