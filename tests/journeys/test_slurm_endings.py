"""How jobs on the real cluster end, or seem to: preempted, cancelled, suspended."""

from __future__ import annotations

import pytest

from tests.alerts.receiver import Receiver
from tests.journeys.test_slurm_arrays import add, cluster, job, polled
from tests.lab.lab import Lab

__all__ = ["cluster"]


@pytest.fixture
def alerts(dogwatch, receiver: Receiver) -> Receiver:
    """A real webhook that gets every alert."""
    assert dogwatch("alerts", "add", "webhook", receiver.url).returncode == 0
    return receiver


def test_a_preempted_job_that_is_not_requeued_has_ended_at_once(cluster: Lab, dogwatch, alerts: Receiver) -> None:
    """The first poll after its death says so; one that Slurm puts back is never said to have ended."""
    victim = cluster.sbatch("bob", "sleep 600", "-p", "low", "-n", "20", "--no-requeue")
    comes_back = cluster.sbatch("bob", "sleep 600", "-p", "low", "-n", "20", "--requeue")
    for number in (victim, comes_back):
        cluster.wait_state(number, "RUNNING")
    add(dogwatch, victim, "victim")
    add(dogwatch, comes_back, "comes back")
    assert dogwatch("patrol").returncode == 0
    cluster.sbatch("alice", "sleep 1", "-p", "high", "--exclusive")
    cluster.wait_state(victim, "PREEMPTED")
    polled(dogwatch, "victim", lambda job: job["state"] == "ended", timeout=10)
    assert "preempted" in dogwatch("status", "victim").stdout
    assert dogwatch("wait", "victim", "--timeout", "5s").returncode == 1
    polled(dogwatch, "comes back", lambda job: job["state"] == "running" and job["attempts"] == 2, timeout=90)
    assert "ended" not in dogwatch("events", "comes back").stdout


def test_cancelling_your_own_job_alarms_nobody(cluster: Lab, dogwatch, alerts: Receiver) -> None:
    """The owner knows; somebody else's scancel is a warning that names who did it."""
    own = cluster.sbatch("alice", "sleep 600")
    taken = cluster.sbatch("alice", "sleep 600")
    for number, name in ((own, "own"), (taken, "taken")):
        cluster.wait_state(number, "RUNNING")
        add(dogwatch, number, name)
    assert dogwatch("patrol").returncode == 0
    cluster.run("alice", "scancel", own, check=True)
    cluster.scancel(taken)
    for number, name in ((own, "own"), (taken, "taken")):
        cluster.wait_accounting(number, "CANCELLED")
        polled(dogwatch, name, lambda job: job["state"] == "ended" and "by" in (job["native"] or ""))
    for name, who in (("own", "cancelled by its owner (alice)"), ("taken", "cancelled by root")):
        assert who in dogwatch("status", name).stdout
        why = dogwatch("why", name).stdout
        assert "ask who" not in why
    assert job(dogwatch, "own")["findings"] == []
    assert [(one["rule"], one["level"]) for one in job(dogwatch, "taken")["findings"]] == [
        ("cancelled_by_others", "warning")
    ]
    said = {(item["name"], item["level"], item["rule"]) for got in list(alerts.got) for item in got.json["jobs"]}
    assert said - {("own", "info", "started"), ("taken", "info", "started")} == {
        ("own", "info", "ended"),
        ("taken", "warning", "cancelled_by_others"),
    }


def test_a_suspended_job_is_shown_as_suspended(cluster: Lab, dogwatch) -> None:
    """In `ls`, `status` and `why`; it has no estimate, and runs again when it is resumed."""
    number = cluster.sbatch("alice", 'i=0; while sleep 0.5; do i=$((i + 1)); echo "step $i/1000"; done')
    cluster.wait_state(number, "RUNNING")
    add(dogwatch, number, "paused")
    polled(dogwatch, "paused", lambda job: job["progress"])
    cluster.scontrol("suspend", number)
    try:
        paused = polled(dogwatch, "paused", lambda job: job["native"] == "SUSPENDED")
        assert (paused["state"], paused["eta"], paused["no_eta_reason"]) == ("running", None, "suspended")
        assert "suspended" in dogwatch("ls").stdout
        assert "suspended: it holds its nodes" in dogwatch("status", "paused").stdout
        assert "it is suspended" in dogwatch("why", "paused").stdout
    finally:
        cluster.scontrol("resume", number)
    polled(dogwatch, "paused", lambda job: job["native"] == "RUNNING")
    assert "suspended" not in dogwatch("ls").stdout


def test_a_script_that_goes_on_after_a_failed_step_is_no_success(cluster: Lab, dogwatch, alerts: Receiver) -> None:
    """`srun train; echo done` is COMPLETED for Slurm. Its outcome is unknown, unless a counter shows that all is done;
    a step that was repeated with success is no doubt."""
    scripts = {
        "failed": "srun false\necho done",
        "counted": "srun false\nfor i in 1 2 3; do echo Processed $i/3 items; done",
        "repeated": "srun test -e flag || { touch flag; srun test -e flag; }\nrm flag",
    }
    for name, script in scripts.items():
        number = cluster.sbatch("alice", script)
        cluster.wait_accounting(number, "COMPLETED")
        add(dogwatch, number, name)
    outcomes = {"failed": ("unknown", 1), "counted": ("succeeded", 0), "repeated": ("succeeded", 0)}
    for name, (outcome, code) in outcomes.items():
        waited = dogwatch("wait", name, "--timeout", "60s")
        assert (job(dogwatch, name)["outcome"], waited.returncode) == (outcome, code), waited.stdout
        told = [waited.stdout, *(dogwatch(verb, name).stdout for verb in ("status", "why"))]
        doubts = ["(false) is FAILED 1:0" in text for text in told]
        assert doubts == [name != "repeated"] * 3, told
