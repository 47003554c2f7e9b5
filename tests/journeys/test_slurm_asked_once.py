"""Eight experiments fail together: the cluster is asked twice at most, and everything is known of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support import wait_until

EVALUATION = """#!/bin/bash
#SBATCH --output=%x.log
echo "step 1/10"
while [ ! -e ~/go ]; do sleep 0.1; done
mkdir -p out-$SLURM_JOB_NAME
echo '{"results": {"arc": {"acc,none": 0.5}}}' > out-$SLURM_JOB_NAME/results_2026.json
yes 'a line of the last seconds' | head -n 20000
echo 'Traceback (most recent call last):'
echo '  File "/srv/train.py", line 9, in <module>'
echo "ValueError: nothing to learn in $SLURM_JOB_NAME"
exit 1
"""


@pytest.fixture
def eight(calm_lab: Lab) -> list[str]:
    """The names of eight jobs that run, and fail together as soon as there is a file `go`."""
    for name in ("go", *(f"e{number}" for number in range(8))):
        (calm_lab.home("alice") / name).unlink(missing_ok=True)
    names = [f"e{number}" for number in range(8)]
    jobs = {name: calm_lab.sbatch("alice", EVALUATION, f"--job-name={name}") for name in names}
    for name, job in jobs.items():
        calm_lab.wait_state(job, "RUNNING")
        (calm_lab.home("alice") / name).write_text(str(job))
    return names


def fail_all(lab: Lab, names: list[str]) -> None:
    (lab.home("alice") / "go").touch()
    for name in names:
        lab.wait_accounting((lab.home("alice") / name).read_text(), "FAILED")


def watch_all(dogwatch, lab: Lab, names: list[str], host: str) -> None:
    for name in names:
        job, results = (lab.home("alice") / name).read_text(), lab.home("alice") / f"out-{name}"
        told = dogwatch("add", "slurm", job, "--host", host, "--name", name, "--output-dir", results)
        assert told.returncode == 0, told.stderr
    assert dogwatch("patrol").returncode == 0


def counted(dogwatch) -> dict[str, int]:
    """What `doctor` says of the connections that the last tick made to the cluster."""
    checks = json.loads(dogwatch("doctor", "--json").stdout)["checks"]
    counts: dict[str, int] = next(check["counts"] for check in checks if check["what"] == "host lab")
    return counts


def test_a_tick_in_which_eight_jobs_fail_makes_two_connections(eight, calm_lab: Lab, dogwatch, home: Path) -> None:
    """One poll and one follow-up: all eight are diagnosed, have their scores, and their bundles lack nothing."""
    config = calm_lab.ssh_config
    assert dogwatch("host", "add", "lab", "--ssh", "lab", "--ssh-config", config, "--floor", "1s").returncode == 0
    watch_all(dogwatch, calm_lab, eight, "lab")
    before = calm_lab.connections()
    wait_until(lambda: dogwatch("patrol").returncode == 0 and calm_lab.connections() > before, timeout=30, pause=1.0)
    assert calm_lab.connections() - before == counted(dogwatch)["connections"] == 1
    fail_all(calm_lab, eight)
    before = calm_lab.connections()
    assert wait_until(lambda: dogwatch("patrol").returncode == 1, timeout=30, pause=1.0)
    assert calm_lab.connections() - before == counted(dogwatch)["connections"] <= 2
    jobs = {job["name"]: job for job in json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"]}
    for name in eight:
        assert f"ValueError: nothing to learn in {name}" in jobs[name]["diagnosis"]["evidence"][0]["text"]
        assert [(score["task"], score["value"]) for score in jobs[name]["scores"]] == [("arc", 0.5)]
    assert "ValueError: nothing to learn in e7" in dogwatch("why", "e7").stdout
    found = {json.loads((bundle / "job.json").read_text())["name"]: bundle for bundle in (home / "bundles").iterdir()}
    assert sorted(found) == eight
    for name, bundle in found.items():
        assert "Missing: nothing" in (bundle / "README.txt").read_text()
        assert f"ValueError: nothing to learn in {name}" in next((bundle / "logs").glob("*.log")).read_text()
        assert "results_2026.json" in (bundle / "files.json").read_text()
