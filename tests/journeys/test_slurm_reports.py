"""Reports about a cluster add up: the whole run is counted, and times are the jobs' own (issue 18, point 16)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.cluster import Desk, id_of
from tests.lab.lab import Lab
from tests.support import wait_until

STEPS = 'i=0; while [ $i -lt 63 ]; do i=$((i+1)); echo "step $i/500 loss 0.5"; done; sleep 600'


@pytest.fixture
def desk(calm_lab: Lab, dogwatch, tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(calm_lab, dogwatch, tmp_path / "project")


def test_every_patrol_counts_the_whole_run(desk: Desk):
    """Jobs that an earlier patrol told of are still counted, with the scores of the evaluations that completed."""
    home = desk.lab.home("alice")
    lm_eval = '{"results": {"MMLU-Pro": {"acc,none": 0.423}}}'
    script = f"mkdir -p {home}/m/model; echo '{lm_eval}' >{home}/m/model/results_2026.json"
    scored = id_of(desk.sbatch(script, "-J", "eval-mmlu"))
    crash = "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 3"
    failed = id_of(desk.sbatch(crash, "-J", "eval-broken"))
    going = [id_of(desk.sbatch("sleep 600", "-J", f"eval-{n}")) for n in range(2)]
    held = id_of(desk.sbatch("sleep 600", "--hold", "-J", "eval-held"))
    desk("add", "slurm", scored, "--host", "lab", "--output-dir", f"{home}/m")
    desk("add", "slurm", failed, *going, held, "--host", "lab")
    said = desk.patrol_until(
        lambda jobs: (
            jobs[scored]["scores"]
            and jobs[failed]["state"] == "ended"
            and all(jobs[one]["state"] == "running" for one in going)
        )
    )
    assert "1 of 5 completed (MMLU-Pro: 42.3%), 1 failed, 2 running, 1 pending" in said
    assert "eval-broken: " in said
    assert "cause: the GPU ran out of memory" in said
    desk.lab.scancel(going[0])
    said = desk.patrol_until(lambda jobs: jobs[going[0]]["state"] == "ended")
    first = said.splitlines()[0]
    assert first == "1 of 5 completed (MMLU-Pro: 42.3%), 1 cancelled, 1 failed, 1 running, 1 pending", said


def test_times_are_the_jobs_own_and_the_limit_to_ask_for_follows_from_progress(desk: Desk):
    """A job lasted from its start to its end, whenever it was added; what nobody saw happen is told as a bound; and
    12.6 % done means that it needs eight times as long, not half as long again."""
    job = id_of(desk.sbatch(STEPS, "-J", "late", "-t", "2"))
    desk.lab.wait_state(job, "RUNNING")
    wait_until(lambda: float(desk.lab.sacct(job, "ElapsedRaw")[0]["ElapsedRaw"]) > 16, timeout=60, pause=0.5)
    desk("add", "slurm", job, "--host", "lab")
    desk.patrol_until(lambda jobs: (jobs[job]["progress"] or {}).get("step") == 63)
    assert "first step within " in desk("status", "late").stdout
    desk.lab.expire(int(job))
    desk.lab.wait_accounting(job, "TIMEOUT", timeout=90)
    desk.patrol_until(lambda jobs: jobs[job]["state"] == "ended")
    row = desk.lab.sacct(job, "Start", "End", "ElapsedRaw")[0]
    told = json.loads(desk("report", "late", "--json").stdout)
    assert (told["time"]["began"][:19], told["time"]["ended"][:19]) == (row["Start"], row["End"])
    assert told["time"]["total_seconds"] == told["attempts"][0]["seconds"] == float(row["ElapsedRaw"])
    used = desk.jobs()[job]["efficiency"]
    needed = used["wall_seconds"] / 0.126
    assert needed < used["ask_for_seconds"] < 1.1 * needed + 600
    minutes = f"{used['ask_for_seconds'] / 60:.0f} min"
    words = f"ran into its time limit with 12.6 % done; ask for {minutes} next time"
    assert words in desk("status", job, code=None).stdout
    assert f"ask for a time limit of {minutes}" in desk("why", job, code=None).stdout
