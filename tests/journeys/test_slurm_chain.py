"""On Slurm the stages of a chain are jobs, each after success of the one before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.cluster import Desk
from tests.lab.lab import Lab


@pytest.fixture
def desk(calm_lab: Lab, dogwatch, tmp_path: Path) -> Desk:
    return Desk(calm_lab, dogwatch, tmp_path)


def test_stages_are_jobs_joined_by_afterok(desk: Desk):
    """Both are registered as Slurm jobs; the second runs after the first, and one that fails cancels what follows."""
    words = ("run", "--on", "lab", "--detach", "--detach-with", "sbatch")
    done = desk(*words, "--name", "good", "--stage", "a: sleep 2; echo one", "--stage", "b: echo two", "--json")
    assert "2 Slurm jobs, each after the one before it succeeded" in done.stderr
    good = [job["id"] for job in json.loads(done.stdout)["jobs"]]
    done = desk(
        *words,
        "--name",
        "bad",
        "--sbatch-options=--time=5",
        "--stage",
        "a: exit 3",
        "--stage",
        "b: echo never",
        "--json",
    )
    bad = [job["id"] for job in json.loads(done.stdout)["jobs"]]
    assert {job["source"] for job in desk.jobs().values() if job["id"] in good + bad} == {"slurm"}
    desk.patrol_until(lambda jobs: all(jobs[job]["state"] == "ended" for job in good + bad))
    jobs = desk.jobs()
    assert [jobs[job]["outcome"] for job in good] == ["succeeded", "succeeded"]
    assert [jobs[job]["name"] for job in good] == ["good a", "good b"]
    assert jobs[bad[0]]["exit_code"] == 3
    assert jobs[bad[1]]["outcome"] == "cancelled"
    (run,) = Path(desk.lab.home("alice"), ".dogwatch", "runs").glob("good-*")
    assert (run / "stage-1.log").read_text() == "two\n"
    assert json.loads((run / "stage-1.done").read_text())["code"] == 0
    assert json.loads((run / "end.json").read_text())["why"] == "done"
