"""The experiment log has every block that an evaluation's notes ask for (seed 001), and times are the jobs' own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.journeys.cluster import Desk, id_of
from tests.lab.lab import Lab
from tests.support import wait_until

STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] ([A-Z_]+): (.+)$", re.M)
STEPS = 'i=0; while [ $i -lt 63 ]; do i=$((i+1)); echo "step $i/500 loss 0.5"; done; sleep 600'


@pytest.fixture
def desk(calm_lab: Lab, dogwatch, tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(calm_lab, dogwatch, tmp_path / "project")


def test_the_log_of_evaluations_has_every_block_and_times_are_their_own(desk: Desk, tmp_path: Path):
    """Status checks, changes, failed polls, metrics, an exceeded limit, GPU figures, the end; no time runs back.
    One that was added late lasted from its start to its end too. Slurm looks at limits twice a minute, so both end."""
    log, home = tmp_path / "experiment.log", desk.lab.home("alice")
    head = "timestamp, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"
    row = "2026/01/01 00:00:00.000, 87 %, 62464 MiB, 81920 MiB"
    script = f"mkdir -p {home}/out; printf '%s\\n' '{head}' '{row}' >{home}/out/gpu_metrics.csv; sleep 600"
    late = id_of(desk.sbatch(STEPS, "-J", "late", "-t", "2"))
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
    wait_until(lambda: float(desk.lab.sacct(late, "ElapsedRaw")[0]["ElapsedRaw"]) > 16, timeout=60, pause=0.5)
    desk("add", "slurm", late, "--host", "lab")
    desk.patrol_until(lambda jobs: (jobs[late]["progress"] or {}).get("step") == 63, *flags)
    assert "first step within " in desk("status", "late").stdout
    for job in (run, late):
        desk.lab.expire(int(job))
    for job in (run, late):
        desk.lab.wait_accounting(job, "TIMEOUT", timeout=90)
    desk.patrol_until(lambda jobs: "ALL_COMPLETE" in log.read_text() and "EXCEEDED" in log.read_text(), *flags)
    has_every_block(log.read_text(), name, run)
    tells_its_own_times(desk, late)


def has_every_block(text: str, name: str, run: str) -> None:
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
    assert "Summary: 3 evaluations completed - 1 COMPLETED, 0 FAILED, 2 TIMEOUT\nTotal time: " in text


def tells_its_own_times(desk: Desk, job: str) -> None:
    """What nobody saw happen is told as a bound; and 12.6 % done means that it needs eight times as long."""
    row = desk.lab.sacct(job, "Start", "End", "ElapsedRaw")[0]
    told = json.loads(desk("report", "late", "--json").stdout)
    assert (told["time"]["began"][:19], told["time"]["ended"][:19]) == (row["Start"], row["End"])
    assert told["time"]["total_seconds"] == told["attempts"][0]["seconds"] == float(row["ElapsedRaw"])
    used = desk.jobs()[job]["efficiency"]
    needed = used["wall_seconds"] / 0.126
    assert needed < used["ask_for_seconds"] < 1.1 * needed + 600
    minutes = f"{used['ask_for_seconds'] / 60:.0f} min"
    words = f"reached its time limit with 12.6 % done; ask for {minutes} next time"
    assert words in desk("status", job, code=None).stdout
    assert f"ask for a time limit of {minutes}" in desk("why", job, code=None).stdout
