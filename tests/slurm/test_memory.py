"""The memory of a batch job: forecast by what its node or Slurm itself counts, within the one look."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from dogwatch import assemble
from dogwatch.aboard.ram.steps import weigh_jobs
from dogwatch.store.database import open_store
from tests.lab.lab import Lab
from tests.slurm.watch import Watch, findings
from tests.support import Ahead, wait_until

MB = 1 << 20
LEAK = """
import os, time
held, there = [], os.environ["HOME"] + "/leak-" + os.environ["SLURM_JOB_ID"]
while True:
    try:
        wanted = int(open(there).read() or 0)
    except OSError:
        wanted = 0
    while sum(map(len, held)) < wanted << 20:
        held.append(bytearray(os.urandom(1 << 20)))
    with open(there + ".held", "w") as told:
        told.write(str(wanted))
    time.sleep(0.05)
"""


@pytest.fixture
def leak(calm_lab: Lab) -> Iterator[tuple[int, Callable[[int], None]]]:
    """A running job with 400 MB that holds as many megabytes as it is told to."""
    if not calm_lab.has_memory_limits:
        pytest.skip("the laboratory has no memory limits here")
    script = f"#!/bin/bash\necho step 1/100000\nexec python3 -c '{LEAK}'\n"
    job = calm_lab.sbatch("alice", script, "--mem=400M", "--time=60")
    calm_lab.wait_state(job, "RUNNING")

    def hold(megabytes: int) -> None:
        path = f"{calm_lab.home('alice')}/leak-{job}"
        calm_lab.run("alice", "sh", "-c", f"echo {megabytes} > {path}", check=True)
        told = ["cat", f"{path}.held"]
        wait_until(lambda: calm_lab.run("alice", *told).stdout.strip() == str(megabytes), timeout=60)

    yield job, hold
    calm_lab.scancel(job)


def test_a_leak_of_a_batch_job_is_told_before_it_is_out_of_memory(watch: Watch, leak) -> None:
    """By its own cgroup, since the host is its node, and no sooner than a rise can be told from a beginning."""
    job, hold = leak
    watch.add(job)
    clock = Ahead()
    with open_store(str(watch.home)) as store:
        watcher = assemble.watch(store, clock, who="test")
        try:
            for look in range(16):
                hold(60 + 12 * look)
                assert watcher.look_once()
                assert look > 10 or "memory_fills" not in findings(watch.job(job))
                clock.by += 200.0
        finally:
            watcher.close()
    level, text = findings(watch.job(job))["memory_fills"]
    assert level == "warning"
    assert "of 0.4 GB) will be full in about" in text
    assert "will be full in about" in watch.must("why", job)
    assert "sstat" not in (watch.place().get("asked") or {})


def test_what_slurm_counts_is_asked_once_for_all_jobs(calm_lab: Lab, leak, monkeypatch) -> None:
    """Where the job's node is another machine: what it holds now, what it was given, and how that was counted."""
    job, hold = leak
    for name, value in calm_lab.env("alice").items():
        monkeypatch.setenv(name, value)
    hold(150)
    spec = {"ids": [str(job), "4000000"], "new": [str(job)], "about": True, "groups": []}

    def told() -> bool:
        answer.update(weigh_jobs(spec, time.monotonic() + 20))
        return answer["jobs"].get(str(job), {}).get("used", 0) > 140 * MB

    answer: dict = {}
    wait_until(told, timeout=90)  # Slurm looks every few seconds
    row = answer["jobs"][str(job)]
    assert (row["by"], row["nodes"], row["given"]) == ("sstat", 1, 400 * MB)
    assert row["used"] < 250 * MB
    assert answer["about"]["JobAcctGatherType"] == "jobacct_gather/linux"
    assert answer["counts"] == {"sstat": 1, "squeue": 1, "scontrol": 1}
