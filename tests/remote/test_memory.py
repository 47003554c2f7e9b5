"""Weighing jobs: trees of real processes, cgroups as the kernel lays them out, Slurm's tools as they print."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.model import Unreachable
from dogwatch.remote import extra_probe
from dogwatch.remote.memory import steps, trees
from dogwatch.transport.local import Here
from dogwatch.wire.json_value import JsonObject

MB = 1 << 20
PARENT = """
import os, sys, time
shared = bytearray(os.urandom(1 << 20)) * 64
for index in range(4):
    if os.fork() == 0:
        own = bytearray(os.urandom(1 << 20)) * 16
        os.write(1, b"x")
        time.sleep(120)
time.sleep(120)
"""
SSTAT = """\
14.extern|1700K|cpu=00:00:00,energy=0,fs/disk=6976,mem=1700K,pages=0,vmem=2920K|2
14.batch|11164K|cpu=00:00:00,energy=0,fs/disk=30864,mem=11164K,pages=0,vmem=219644K|1
14.0|6.50G|cpu=02:00:00,energy=0,fs/disk=44680,mem=12.00G,pages=3,vmem=75396K|4
15.extern||energy=0|1
15.batch|2G|cpu=00:00:00,mem=1.50G,vmem=1G|1
77.batch|2G|cpu=00:00:00,mem=1.50G,vmem=1G|1
"""
SQUEUE = """\
14|14|N/A|N/A|N/A|2|cpu=64,mem=32G,node=2,billing=64|1-00:00:10|
15|15|N/A|N/A|N/A|1||UNLIMITED|
21|20|7|N/A|N/A|1|cpu=1,mem=2G,node=1|59:30|
20|20|9|N/A|N/A|1|cpu=1,mem=2G,node=1|10:00|
30|30|N/A|30|0|2|cpu=2,mem=8G,node=2|2:00:00|
31|31|N/A|30|1|1|cpu=1,mem=3G,node=1|2:00:00|
noise
"""


def test_pages_that_a_tree_shares_count_once(tmp_path: Path) -> None:
    """A data loader that forks after loading has its pages in every worker, and holds them once."""
    child = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout is not None
        assert len(child.stdout.read(4)) == 4
        transport = Here()
        asked: JsonObject = {
            "program": extra_probe("memory"),
            "call": {"pids": [child.pid], "seconds": 10.0},
            "seconds": 20,
            "wait": 20,
        }
        answer = transport.ask({"extra_probes": {"memory": asked}}, 30.0)
        transport.close()
        assert not isinstance(answer, Unreachable)
        told = answer.body["extra_probes"]["memory"]["trees"]
        assert (told["processes"], told["rough"]) == (5, 0)
        assert 128 * MB < told["bytes"][str(child.pid)] < 200 * MB
        rough = trees.weigh_trees([child.pid], 0.0)  # without time for it, by resident sizes
        assert rough["rough"] == 5
        assert told["bytes"][str(child.pid)] < rough["bytes"][str(child.pid)]
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def test_one_that_was_left_by_its_parent_belongs_to_the_session(tmp_path: Path) -> None:
    """A worker whose parent has gone is still the job's, as long as the job leads the session."""
    rows = {10: (1, 10, 5), 11: (10, 10, 5), 12: (1, 10, 5), 13: (1, 13, 5), 14: (11, 14, 5)}
    assert {pid: trees.root_of(pid, {10}, rows) for pid in rows} == {10: 10, 11: 10, 12: 10, 13: None, 14: 10}


def tools(path: Path, **scripts: str) -> None:
    for name, text in scripts.items():
        (path / name).write_text(f"#!/bin/sh\n{text}")
        (path / name).chmod(0o755)


def weigh(monkeypatch: pytest.MonkeyPatch, path: Path, spec: dict[str, Any], seconds: float = 20.0) -> dict[str, Any]:
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    call: Any = {"groups": [f"{path}/slurm*/uid_*/job_%s"], **spec}
    return dict(steps.weigh_jobs(call, time.monotonic() + seconds))


def test_what_slurm_counts_is_added_up_over_the_steps(tmp_path: Path, monkeypatch) -> None:
    """What a job holds now, the most that one task ever had, and what it was given; of jobs that were asked about."""
    squeue = f"cat <<'X'\n{SQUEUE}X\n"
    config = "echo 'JobAcctGatherType       = jobacct_gather/cgroup'; echo 'JobAcctGatherParams = (null)'"
    tools(tmp_path, sstat=f"cat <<'X'\n{SSTAT}X\n", squeue=squeue, scontrol=config)
    told = weigh(monkeypatch, tmp_path, {"ids": ["14", "15", "16", "x; rm"], "new": ["14", "15"], "about": True})
    assert told["jobs"].keys() == {"14", "15"}
    assert told["jobs"]["14"] == {
        "used": 12 * 1024**3 + (1700 + 11164) * 1024,
        "top": int(6.5 * 1024**3),
        "usual": 3 * 1024**3,
        "by": "sstat",
        "nodes": 2,
        "given": 32 * 1024**3,
    }
    assert told["jobs"]["15"]["given"] is None
    assert told["about"]["JobAcctGatherType"] == "jobacct_gather/cgroup"
    assert told["counts"] == {"sstat": 1, "squeue": 1, "scontrol": 1}


def test_a_job_of_this_machine_is_weighed_by_its_cgroup_and_no_tool_is_run(tmp_path: Path, monkeypatch) -> None:
    """Of both kinds; pages of files are what the kernel gives back first."""
    old, new = tmp_path / "slurm_n1" / "uid_7" / "job_14", tmp_path / "slurm_n1" / "uid_7" / "job_15"
    for folder, names in ((old, ("usage_in_bytes", "limit_in_bytes")), (new, ("current", "max"))):
        folder.mkdir(parents=True)
        (folder / f"memory.{names[0]}").write_text("900\n")
        (folder / f"memory.{names[1]}").write_text("2000\n")
    (old / "memory.stat").write_text("inactive_file 1\nactive_file 2\ntotal_inactive_file 100\ntotal_active_file 50\n")
    (new / "memory.stat").write_text("anon 5\ninactive_file 200\nactive_file 300\n")
    tools(tmp_path, sstat="exit 9", squeue="exit 9")
    told = weigh(monkeypatch, tmp_path, {"ids": ["14", "15"], "new": ["14", "15"]})
    assert told["jobs"] == {
        "14": {"used": 750, "by": "cgroup", "limit": 2000},
        "15": {"used": 400, "by": "cgroup", "limit": 2000},
    }
    assert told["counts"] == {}


def test_pieces_of_a_job_are_weighed_each_by_itself(tmp_path: Path, monkeypatch) -> None:
    """Tasks of an array and parts of a heterogeneous job, by their own ids: those that were weighed before go first."""
    steps_ = "".join(f"{one}.batch|1G|mem={one}M|1\n" for one in (20, 21, 31))
    tools(tmp_path, sstat=f"cat <<'X'\n{steps_}X\n", squeue=f"cat <<'X'\n{SQUEUE}X\n")
    told = weigh(monkeypatch, tmp_path, {"ids": [], "many": {"20": ["7", "5"], "30": [], "x; rm": []}})
    assert told["jobs"] == {}
    assert told["counts"] == {"squeue": 1, "sstat": 1}
    tasks, parts = told["pieces"]["20"], told["pieces"]["30"]
    assert [(task, row["used"], row["given"], row["left"]) for task, row in sorted(tasks.items())] == [
        ("7", 21 * MB, 2048 * MB, 3570),
        ("9", 20 * MB, 2048 * MB, 600),
    ]
    assert [(part, row["used"], row["given"], row["nodes"]) for part, row in parts.items()] == [
        ("+1", 31 * MB, 3 << 30, 1)
    ]
    there = {str(id): steps.Running("20", str(id), 1, None, None) for id in range(100, 120)}
    first = steps.pieces_to_weigh({"20": ["117"]}, there)
    assert first == ["117", *(str(id) for id in range(100, 107))]


@pytest.mark.parametrize("script", ["exit 1", "sleep 60", "head -c 100000 /dev/urandom", "echo '14.0|9G'"])
def test_a_tool_that_fails_hangs_or_raves_tells_nothing(tmp_path: Path, monkeypatch, script: str) -> None:
    """In its time, and without an error."""
    tools(tmp_path, sstat=script, squeue=script, scontrol=script)
    told = weigh(monkeypatch, tmp_path, {"ids": ["14"], "new": ["14"], "about": True}, seconds=1.0)
    assert told["jobs"] == {}


@given(st.text(max_size=40))
def test_no_text_is_an_error_as_a_size(text: str) -> None:
    """A size is a whole number of bytes, or nothing is known."""
    found = steps.octets(text)
    assert found is None or found >= 0
    assert all(isinstance(value, str) for value in steps.tres(text).values())
    assert (steps.seconds(text) or 0) >= 0


@pytest.mark.parametrize(
    ("text", "told"),
    [("1-02:03:04", 93784), ("2:00:00", 7200), ("59:30", 3570), ("UNLIMITED", None), ("INVALID", None)],
)
def test_the_time_that_is_left_is_read_as_slurm_writes_it(text: str, told: int | None) -> None:
    """Or not at all where there is no limit."""
    assert steps.seconds(text) == told
