"""Error patterns: what the logs of a job say on its way is counted and shown, and is no failure."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wait_until

WORKER = """
import sys, time
log, lines, pause = open(sys.argv[1], "a", buffering=1), sys.argv[2].split("|"), float(sys.argv[3])
for done in range(1, 21):
    for line in lines:
        print(line, file=log)
    print(f"Processed {done}/20 items", file=log)
    time.sleep(pause)
"""


class Work:
    def __init__(self, folder: Path) -> None:
        self.name, self.logs = f"work{uuid.uuid4().hex[:8]}", folder / "logs"
        self.logs.mkdir(parents=True)
        self.script = folder / f"{self.name}.py"
        self.script.write_text(WORKER)
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, lines: str, pause: float = 0.15) -> None:
        command = [sys.executable, str(self.script), str(self.logs / "worker_0.log"), lines, str(pause)]
        self.started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))

    def watch(self, *more: str) -> list[str]:
        where = ["--job-name", self.name, "--log-dir", str(self.logs), "--num-workers", "1"]
        return ["watch", *where, "--total-items", "20", "--check-interval", "1", *more]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    made = Work(tmp_path / "work")
    yield made
    for process in made.started:
        process.kill()
        process.wait()


def watched(work: Work, spawn, *more: str) -> tuple[int, str]:
    watching = spawn(*work.watch(*more), stdout=subprocess.PIPE)
    for process in work.started:
        process.wait(30)
    said, _ = watching.communicate(timeout=30)
    return watching.returncode, said


def errors(dogwatch) -> list[dict]:
    (job,) = json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"]
    found = json.loads(dogwatch("status", job["ref"], "--json").stdout)["jobs"][0]
    return [one for one in found["findings"] if one["rule"] == "error_pattern"]


def test_refused_connections_are_one_warning_with_their_number(dogwatch, spawn, work: Work) -> None:
    """Sixty lines of 'Connection refused' that the worker survives are counted, and the job ends well."""
    work.start("|".join(["ERROR: Connection refused"] * 3))
    code, said = watched(work, spawn)
    assert code == 0, said
    (finding,) = errors(dogwatch)
    assert finding["level"] == "warning"
    assert finding["text"].startswith("60 × Connection refused, last ")
    assert sum("Connection refused" in line for line in said.splitlines()) <= 3


def test_a_pattern_of_ones_own_ignores_case(dogwatch, spawn, work: Work, tmp_path: Path) -> None:
    """The YAML of the design document, whose '(connection refused|timeout)' has to match 'Connection refused'."""
    config = tmp_path / "job.yaml"
    config.write_text(
        "error_patterns:\n  - pattern: '(connection refused|timeout)'\n    severity: 'warning'\n"
        "  - pattern: 'ECC'\n    severity: critical\n    case_sensitive: true\n"
    )
    work.start("Connection refused|recc: 4")
    code, said = watched(work, spawn, "--config", str(config))
    assert code == 0, said
    (finding,) = errors(dogwatch)
    assert finding["text"].startswith("20 × Connection refused")


def test_a_critical_pattern_alerts_as_critical_and_fails_nobody(dogwatch, spawn, work: Work, tmp_path: Path) -> None:
    """The owner's severity is the level of the alert; the job that goes on ends well."""
    config = tmp_path / "job.yaml"
    config.write_text("error_patterns:\n  - pattern: '(out of memory|OOM)'\n    severity: critical\n")
    work.start("caught CUDA out of memory, batch halved")
    code, said = watched(work, spawn, "--config", str(config))
    assert code == 0, said
    (finding,) = errors(dogwatch)
    assert finding["level"] == "critical"
    assert "!!" in said


def test_harmless_lines_alarm_nobody(dogwatch, spawn, work: Work) -> None:
    """A printed configuration and counts of none have the words of errors and report none."""
    work.start("timeout=30|0 errors|OOM score: 3|parse error rate: 0|corrupted: 0|no CUDA error")
    code, said = watched(work, spawn)
    assert code == 0, said
    assert errors(dogwatch) == []


def test_a_file_can_turn_the_default_patterns_off(dogwatch, spawn, work: Work, tmp_path: Path) -> None:
    """An empty list is none at all."""
    config = tmp_path / "job.yaml"
    config.write_text("error_patterns: []\n")
    work.start("ERROR: Connection refused")
    code, said = watched(work, spawn, "--config", str(config))
    assert code == 0, said
    assert errors(dogwatch) == []


def test_the_count_is_shown_while_the_job_runs(dogwatch, spawn, work: Work) -> None:
    """`status` shows how often, the newest line, and when."""
    work.start("WARNING: parse error at line 3", pause=0.5)
    spawn(*work.watch())
    wait_until(lambda: "× parse error" in dogwatch("status").stdout)
    assert "at line 3" in dogwatch("status").stdout


def test_lines_of_a_run_before_this_one_do_not_count(dogwatch, spawn, work: Work) -> None:
    """The log goes on from the last run's, without a time in any line: its errors are not told as this run's."""
    made = time.time()
    (work.logs / "worker_0.log").write_text("ERROR: Connection refused\n" * 3)
    wait_until(lambda: time.time() > made + 2)
    work.start("all is well")
    wait_until(lambda: "Processed" in (work.logs / "worker_0.log").read_text())
    code, said = watched(work, spawn)
    assert code == 0, said
    assert errors(dogwatch) == []
    assert "Connection refused" not in said


def test_waiting_tells_the_name(dogwatch) -> None:
    """`wait` calls a job as every other screen does; where two have one name, their refs are told too."""
    for _ in range(2):
        assert dogwatch("run", "--detach", "--name", "twin", "--", "true").returncode == 0
    refs = [job["ref"] for job in json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"]]
    assert dogwatch("wait", refs[0], "--timeout", "30").stdout.startswith("twin  ")
    both = dogwatch("wait", *refs, "--timeout", "30").stdout
    assert all(f"twin ({ref})  " in both for ref in refs), both
