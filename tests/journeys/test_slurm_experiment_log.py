"""The experiment log has every block that an evaluation's notes ask for (seed 001)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.journeys.cluster import Desk, id_of
from tests.lab.lab import Lab

STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] ([A-Z_]+): (.+)$", re.M)


@pytest.fixture
def desk(calm_lab: Lab, dogwatch, tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(calm_lab, dogwatch, tmp_path / "project")


def test_the_log_of_an_evaluation_has_every_block_in_order(desk: Desk, tmp_path: Path):
    """Status checks, changes, failed polls, metrics, an exceeded limit, GPU figures, the end; no time runs back."""
    log, home = tmp_path / "experiment.log", desk.lab.home("alice")
    head = "timestamp, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"
    row = "2026/01/01 00:00:00.000, 87 %, 62464 MiB, 81920 MiB"
    script = f"mkdir -p {home}/out; printf '%s\\n' '{head}' '{row}' >{home}/out/gpu_metrics.csv; sleep 600"
    run, done = (id_of(desk.sbatch(text, "-t", "5")) for text in (script, "sleep 2"))
    name = "r8_lr1e-5/capitalization/epoch0"
    desk("add", "slurm", run, "--host", "lab", "--name", name, "--output-dir", f"{home}/out")
    desk("add", "slurm", done, "--host", "lab", "--name", "r8_lr1e-5/capitalization/epoch1")
    flags = ("--log-file", log)
    desk.patrol_until(lambda jobs: jobs[run]["state"] == "running" and jobs[done]["state"] == "ended", *flags)
    desk.patrol_until(lambda jobs: "RESOURCE_STATUS" in log.read_text(), *flags)
    desk.lab.kill_sshd()
    desk.patrol_until(lambda jobs: "Failures: 2 in a row" in log.read_text(), *flags)
    desk.lab.start_sshd()
    desk.lab.wait_sshd()
    desk.lab.expire(int(run))
    desk.lab.wait_accounting(run, "TIMEOUT", timeout=90)
    desk.patrol_until(lambda jobs: "ALL_COMPLETE" in log.read_text() and "EXCEEDED" in log.read_text(), *flags)
    text = log.read_text()
    heads = STAMP.findall(text)
    assert [at for at, _, _ in heads] == sorted(at for at, _, _ in heads), text
    assert heads[0][1:] == ("STATUS_CHECK", "Polling SLURM")
    assert {kind for _, kind, _ in heads} >= {"STATE_CHANGE", "COMPUTE_METRICS", "RESOURCE_STATUS", "ERROR"}, text
    assert "Result: 2 jobs found - " in text
    assert f"] STATE_CHANGE: {name}\nPrevious: RUNNING\nCurrent: TIMEOUT\nJob ID: {run}\nCompleted: " in text
    assert re.search(r"\nGPU Time: \S+ / \S+ \(\*\*EXCEEDED\*\*\)\n", text)
    assert "⚠️ Time limit exceeded — consider increasing eval time limit when re-scaffolding\n" in text
    assert f"] RESOURCE_STATUS: {name}\nGPU Utilization: 87% | GPU Memory: 61.0/80.0 GB\n" in text
    assert "] ERROR: Polling SLURM failed\nHost: lab\nReason: " in text
    assert "Summary: 2 evaluations completed - 1 COMPLETED, 0 FAILED, 1 TIMEOUT\nTotal time: " in text
