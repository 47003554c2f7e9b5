"""Arrays and requeues on the real cluster: nothing that is still to do is forgotten, and no attempt either."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.support import wait_until

TASK = """for i in 1 2 3 4 5; do echo "step $i/5"; done
[ "$SLURM_ARRAY_TASK_ID" -le 2 ] || while [ ! -e ~/all ]; do sleep 0.2; done"""


@pytest.fixture
def cluster(calm_lab: Lab, dogwatch) -> Lab:
    """The laboratory as the host `lab`, asked as often as every second."""
    (calm_lab.home("alice") / "all").unlink(missing_ok=True)
    flags = ("--ssh", "lab", "--ssh-config", calm_lab.ssh_config, "--floor", "1s")
    assert dogwatch("host", "add", "lab", *flags).returncode == 0
    return calm_lab


def job(dogwatch, name: str) -> dict[str, Any]:
    found = json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"]
    return next(one for one in found if one["name"] == name)


def polled(dogwatch, name: str, true, timeout: float = 60) -> dict[str, Any]:
    """The job as soon as a patrol shows it to be so."""

    def reached() -> dict[str, Any] | None:
        assert dogwatch("patrol").returncode in (0, 1)
        found = job(dogwatch, name)
        return found if true(found) else None

    found = wait_until(reached, timeout=timeout, pause=0.8)
    assert found is not None
    return found


def add(dogwatch, number: int, name: str) -> None:
    assert dogwatch("add", "slurm", number, "--host", "lab", "--name", name).returncode == 0


def test_tasks_that_have_not_started_count_in_the_progress_of_an_array(cluster: Lab, dogwatch) -> None:
    """Of ten tasks two are done, two run and six wait: that is not 100 %; and it lasts from first start to last end."""
    number = cluster.sbatch("alice", TASK, "--array=1-10%2", "-w", "gpu01")
    add(dogwatch, number, "sweep")
    sweep = polled(dogwatch, "sweep", lambda job: (job["tasks"] or {}).get("states", {}).get("succeeded") == 2)
    assert (sweep["progress"]["total"], sweep["progress"]["unit"]) == (10, "tasks")
    assert 2 <= sweep["progress"]["step"] <= 4
    assert "of 10 tasks" in dogwatch("status", "sweep").stdout
    (cluster.home("alice") / "all").touch()
    sweep = polled(dogwatch, "sweep", lambda job: job["state"] == "ended", timeout=90)
    assert (sweep["outcome"], sweep["progress"]["step"]) == ("succeeded", 10)
    rows = wait_until(lambda: ten_ended(cluster.sacct(number, "Start", "End")), timeout=60)  # slurmdbd may be late
    local = "%Y-%m-%dT%H:%M:%S"
    assert min(row["Start"] for row in rows) == in_local_time(sweep["started"], local)
    assert max(row["End"] for row in rows) == in_local_time(sweep["since"], local)


def ten_ended(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return rows if len(rows) == 10 and all(row["End"] != "Unknown" for row in rows) else []


def in_local_time(stamp: str, how: str) -> str:
    from datetime import datetime

    return datetime.fromisoformat(stamp).astimezone().strftime(how)


def test_every_attempt_of_a_requeued_job_keeps_its_seconds_node_and_ending(cluster: Lab, dogwatch) -> None:
    """`status` says requeued and why it waits; status, report and JSON keep what became of the first attempt."""
    number = cluster.sbatch("alice", "sleep 600", "-w", "gpu02", "--requeue")
    add(dogwatch, number, "again")
    cluster.wait_state(number, "RUNNING")
    polled(dogwatch, "again", lambda job: job["state"] == "running")
    cluster.scontrol("requeue", number)
    cluster.wait_state(number, "PENDING")
    polled(dogwatch, "again", lambda job: job["attempts"] == 2 and len(job["history"]) == 1)
    status = dogwatch("status", "again").stdout
    assert "requeued, waiting: its begin time has not come" in status
    assert "attempt 1: requeued after" in status
    assert "requeued" in dogwatch("ls").stdout
    cluster.update(f"JobId={number}", StartTime="now")
    cluster.wait_state(number, "RUNNING")
    again = polled(dogwatch, "again", lambda job: job["state"] == "running" and len(job["history"]) == 2)
    first = cluster.sacct(number, "State", "ElapsedRaw", "NodeList", every=True)[0]
    assert first["State"] == "REQUEUED"
    # The accounting tells of it late; until then the times of our polls stand there.
    again = polled(dogwatch, "again", lambda job: job["history"][0]["seconds"] == float(first["ElapsedRaw"]))
    told = again["history"][0]
    assert (told["how"], told["nodes"]) == ("requeued", "gpu02")
    report = dogwatch("report", "again").stdout
    assert "attempt 1: requeued after" in report
    assert "on gpu02" in report
    assert "2 attempts" in report


def test_why_quotes_the_log_of_the_task_that_failed(cluster: Lab, dogwatch) -> None:
    """One of four tasks ends with 7 and without a word: its last line is shown, not those of the other three."""
    number = cluster.sbatch(
        "alice", "echo task $SLURM_ARRAY_TASK_ID; [ $SLURM_ARRAY_TASK_ID != 2 ] || exit 7", "--array=0-3"
    )
    add(dogwatch, number, "four")
    waited = dogwatch("wait", "four", "--timeout", "90s")
    assert waited.returncode == 1
    assert "1 of 4 tasks failed: 2 (exit code 7)" in waited.stdout
    polled(dogwatch, "four", lambda job: job["tasks"]["states"] == {"failed": 1, "succeeded": 3})
    why = dogwatch("why", "four").stdout
    assert "task 2" in why
    assert why.index("task 2") < (why + "task 0").index("task 0")
