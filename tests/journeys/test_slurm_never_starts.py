"""A Slurm job that can never start: nobody is told to wait for it."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.cluster import Desk, id_of
from tests.lab.lab import Lab
from tests.support import wait_until


def test_a_dependency_that_can_never_be_satisfied_ends_the_waiting(calm_lab: Lab, dogwatch, tmp_path: Path) -> None:
    """The job it depends on failed: `why` advises no waiting, and `wait --for running` says why and ends with 1."""
    desk = Desk(calm_lab, dogwatch, tmp_path)
    first = id_of(desk.sbatch("exit 1", "-J", "first"))
    calm_lab.wait_state(first, "FAILED")
    printed = desk.sbatch("sleep 600", "-J", "second", f"--dependency=afterok:{first}")
    desk("add", "slurm", "-", "--host", "lab", input=printed)
    wait_until(lambda: "can never start" in desk("status", "second").stdout, timeout=90, pause=1)
    waited = desk("wait", "second", "--for", "running", code=1)
    assert ": it can never start" in waited.stderr
    told = desk("why", "second").stdout
    assert "can never start" in told
    assert "dogwatch wait" not in told
    calm_lab.run("alice", "scancel", id_of(printed))
