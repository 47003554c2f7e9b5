"""The first minute of a batch job: its state is the first sign, and its log the second."""

from __future__ import annotations

from tests.slurm.watch import Document, Watcher
from tests.support import wait_until


def launch_of(watch: Watcher, job: int) -> Document:
    assert watch.patrol().returncode in (0, 1)
    found: Document = watch.jobs()[str(job)]["launch"] or {}
    return found


def test_a_batch_job_is_verified_by_its_log(watch: Watcher) -> None:
    """Not by running alone; each sign has its time, by our own clock."""
    job = watch.lab.sbatch("alice", "while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.2; done; echo step 1/9; sleep 600")
    watch.lab.wait_state(job, "RUNNING")
    watch.add(job)
    wait_until(lambda: launch_of(watch, job).get("state") == "verifying", timeout=60)
    watch.lab.run("alice", "touch", f"go-{job}", check=True)
    wait_until(lambda: launch_of(watch, job)["state"] == "verified", timeout=60)
    seconds = {check["what"]: check["seconds"] for check in launch_of(watch, job)["checks"] if check["ok"]}
    assert seconds["workers"] == 0.0
    assert 0 < seconds["logs"] < 60
    assert seconds["first step"] >= seconds["logs"]


def test_a_batch_job_that_ends_at_once_has_failed_to_launch(watch: Watcher) -> None:
    """Seen running, then gone within the launch timeout: said so, with how it ended."""
    job = watch.lab.sbatch("alice", "while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.2; done; exit 3")
    watch.lab.wait_state(job, "RUNNING")
    watch.add(job)
    wait_until(lambda: launch_of(watch, job).get("state") == "verifying", timeout=60)
    watch.lab.run("alice", "touch", f"go-{job}", check=True)
    watch.lab.wait_accounting(job, "FAILED")
    wait_until(lambda: launch_of(watch, job)["state"] == "failed", timeout=60)
    assert "exit code 3" in launch_of(watch, job)["text"]
