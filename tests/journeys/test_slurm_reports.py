"""Reports about a cluster add up: the whole run is counted. That times are the jobs' own: test_slurm_experiment_log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.cluster import Desk, id_of
from tests.lab.lab import Lab


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
