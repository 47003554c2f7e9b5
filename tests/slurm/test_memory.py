"""The memory of a batch job: forecast by what its node or Slurm itself counts, within the one poll."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dogwatch import assemble
from dogwatch.remote.memory.steps import weigh_jobs
from dogwatch.store.sqlite.location import open_store
from tests.lab.lab import Lab
from tests.slurm.watch import Watcher, findings
from tests.support import Ahead, wait_until

MB = 1 << 20
LEAK = """
import os, sys, time
held, there = [], os.environ["HOME"] + "/leak-" + sys.argv[1]
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
PROGRAM = f"""cat > $HOME/leak.py <<'X'
{LEAK}
X
"""
Start = Callable[..., int]


@pytest.fixture
def start(calm_lab: Lab) -> Iterator[Start]:
    """Starts a job whose programs hold as many megabytes as they are told to."""
    if not calm_lab.has_memory_limits:
        pytest.skip("the laboratory has no memory limits here")
    started = []

    def start(script: str, *flags: str) -> int:
        job = calm_lab.sbatch("alice", f"#!/bin/bash\n{script}\n", "--time=600", *flags)
        started.append(job)
        return job

    calm_lab.run("alice", "sh", "-c", PROGRAM + "rm -f $HOME/leak-*", check=True)
    yield start
    for job in started:
        calm_lab.scancel(job)


def hold(lab: Lab, name: str, megabytes: int) -> None:
    """Tell a program to hold that much, and wait until it does."""
    path = f"{lab.home('alice')}/leak-{name}"
    lab.run("alice", "sh", "-c", f"echo {megabytes} > {path}", check=True)
    wait_until(lambda: lab.run("alice", "cat", f"{path}.held").stdout.strip() == str(megabytes), timeout=60)


def told_ahead(watch: Watcher, job: int, leaks: Callable[[int], None]) -> str:
    """What is found while something leaks from look to look; nothing before a rise can be told from a beginning."""
    watch.add(job)
    clock = Ahead()
    with open_store(str(watch.home)) as store:
        watcher = assemble.watch(store, clock, who="test")
        try:
            for look in range(16):
                leaks(60 + 12 * look)
                assert watcher.poll_once()
                assert look > 10 or "memory_fills" not in findings(watch.job(job))
                clock.by += 200.0
        finally:
            watcher.close()
    level, text = findings(watch.job(job))["memory_fills"]
    assert level == "warning"
    assert "sstat" not in (watch.place().get("asked") or {})
    return text


def by_slurm(lab: Lab, spec: dict[str, Any], enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What Slurm counts, as somebody on another machine than the node would ask for it, once it has counted enough."""
    answer: dict[str, Any] = {}

    def told() -> bool:
        call: Any = {"new": [], "about": False, "groups": [], **spec}
        answer.update(weigh_jobs(call, time.monotonic() + 20))
        return enough(answer)

    wait_until(told, timeout=90)  # Slurm looks every few seconds
    return answer


@pytest.fixture
def as_alice(calm_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    for name, value in calm_lab.env("alice").items():
        monkeypatch.setenv(name, value)
    return calm_lab


def test_a_leak_of_a_batch_job_is_told_before_it_is_out_of_memory(watch: Watcher, start: Start) -> None:
    """By its own cgroup, since the host is its node."""
    job = start("echo step 1/100000; exec python3 $HOME/leak.py one", "--mem=400M")
    watch.lab.wait_state(job, "RUNNING")
    text = told_ahead(watch, job, lambda size: hold(watch.lab, "one", size))
    assert "the memory that the job may use" in text
    assert "of 0.4 GB) will be full in about" in text
    assert "will be full in about" in watch.must("why", job, "--no-poll")


def test_a_leak_of_one_task_of_an_array_is_told_with_its_number(watch: Watcher, start: Start) -> None:
    """Each has a limit of its own; the others hold still."""
    job = start("exec python3 $HOME/leak.py $SLURM_ARRAY_TASK_ID", "--mem=400M", "--array=3-5")
    for task in (3, 4, 5):
        hold(watch.lab, str(task), 60)
    text = told_ahead(watch, job, lambda size: hold(watch.lab, "4", size))
    assert "the memory that task 4 may use" in text
    assert "of 0.4 GB) will be full in about" in text


def test_what_slurm_counts_is_asked_once_for_all_jobs(as_alice: Lab, start: Start) -> None:
    """Where the job's node is another machine: what it holds now, what it was given, and how that was counted."""
    job = start("exec python3 $HOME/leak.py one", "--mem=400M")
    hold(as_alice, "one", 150)
    spec = {"ids": [str(job), "4000000"], "new": [str(job)], "about": True}
    answer = by_slurm(as_alice, spec, lambda told: told["jobs"].get(str(job), {}).get("used", 0) > 140 * MB)
    row = answer["jobs"][str(job)]
    assert (row["by"], row["nodes"], row["given"]) == ("sstat", 1, 400 * MB)
    assert row["used"] < 250 * MB
    assert answer["about"]["JobAcctGatherType"] == "jobacct_gather/linux"
    assert answer["counts"] == {"sstat": 1, "squeue": 1, "scontrol": 1}


def test_slurm_tells_tasks_of_an_array_apart(as_alice: Lab, start: Start) -> None:
    """By the ids that they have of their own; one that has ended is not asked about."""
    script = "[ $SLURM_ARRAY_TASK_ID = 9 ] && exit 0; exec python3 $HOME/leak.py $SLURM_ARRAY_TASK_ID"
    job = start(script, "--mem=400M", "--array=7-9")
    hold(as_alice, "7", 150)
    hold(as_alice, "8", 50)

    def counted(answer: dict[str, Any]) -> bool:
        rows = answer["pieces"].get(str(job), {})
        return rows.get("7", {}).get("used", 0) > 140 * MB and rows.get("8", {}).get("used", 0) > 40 * MB

    answer = by_slurm(as_alice, {"ids": [], "many": {str(job): ["8"]}}, counted)
    rows = answer["pieces"][str(job)]
    assert rows.keys() == {"7", "8"}
    assert rows["8"]["used"] < 100 * MB
    assert {row["given"] for row in rows.values()} == {400 * MB}
    assert all(35000 < row["left"] <= 36000 for row in rows.values())
    assert answer["counts"] == {"sstat": 1, "squeue": 1}


def test_slurm_tells_parts_of_a_heterogeneous_job_apart(as_alice: Lab, start: Start) -> None:
    """The first runs the script, the second what that starts there, on two nodes with a share of the memory each."""
    script = """#SBATCH --mem=400M
#SBATCH hetjob
#SBATCH --mem=300M --nodes=2 --ntasks-per-node=1
srun --het-group=1 sh -c 'exec python3 $HOME/leak.py part-$SLURM_NODEID' &
exec python3 $HOME/leak.py first
"""
    job = start(script)
    hold(as_alice, "first", 50)
    hold(as_alice, "part-0", 60)
    hold(as_alice, "part-1", 150)

    def counted(answer: dict[str, Any]) -> bool:
        rows = answer["pieces"].get(str(job), {})
        return rows.get("+1", {}).get("top", 0) > 140 * MB and rows.get("+0", {}).get("used", 0) > 40 * MB

    rows = by_slurm(as_alice, {"ids": [], "many": {str(job): []}}, counted)["pieces"][str(job)]
    assert rows.keys() == {"+0", "+1"}
    assert (rows["+0"]["nodes"], rows["+0"]["given"]) == (1, 400 * MB)
    assert (rows["+1"]["nodes"], rows["+1"]["given"]) == (2, 600 * MB)
    assert 190 * MB < rows["+1"]["used"] < 300 * MB
    assert 90 * MB < rows["+1"]["usual"] < 150 * MB
