"""Findings that need silence limit, by a real watcher over real processes and our library, with the clock moved by
hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch import assemble
from dogwatch.api import report
from dogwatch.clock import Clock
from dogwatch.model import Expectation
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.loop.watcher import Watcher
from tests.gpus.rig import GB, H100, WORK, Rig, computing, work_environment
from tests.support import Ahead, wait_until


class Shift:
    """A job of two workers on two GPUs, and the watch over it."""

    def __init__(self, store: Store, clock: Ahead, watch: Watcher, ref: str) -> None:
        self._store, self._clock, self._watch, self._ref = store, clock, watch, ref

    def job(self) -> Any:
        found: Any = jobs.documents(self._store, refs=[self._ref])[0]
        return found

    def after(self, seconds: float) -> dict[str, str]:
        """The text of each open finding about GPUs by rule, after so many seconds of looking."""
        for _ in range(max(1, round(seconds / 30))):
            self._clock.by += 30.0
            self._watch.step()
        return {one["rule"]: one["text"] for one in self.job()["findings"] if one["rule"].startswith("gpu")}

    def until(self, rule: str) -> str:
        """The text of a finding, once it is there. An answer that is late is taken by the next poll."""
        return wait_until(lambda: self.after(30.0).get(rule, ""))


@pytest.fixture
def pids(rig: Rig, tmp_path: Path, shift: Shift) -> tuple[int, int]:
    return computing(tmp_path, "0"), computing(tmp_path, "1")


@pytest.fixture
def shift(rig: Rig, home: Path, tmp_path: Path) -> Iterator[Shift]:
    rig.library([H100, H100])
    clock = Ahead()
    env = [f"{name}={value}" for name, value in work_environment(tmp_path).items()]
    with open_store(str(home)) as store:
        argv = [sys.executable, "-c", WORK]
        ref = assemble.start_run(
            store, clock, argv, name="t", workers=2, gpus=["0", "1"], env=env, cwd=None, expect=Expectation(workers=2)
        )
        watch = assemble.watch(store, clock, who="test", every=30.0)
        watch.begin()
        one = Shift(store, clock, watch, ref)
        wait_until(lambda: one.after(30.0) == {} and one.job()["state"] == "running")
        yield one
        watch.end()


def test_a_gpu_that_never_worked_is_told_after_the_time_that_loading_takes(rig, shift, pids):
    """Its neighbour works; the finding resolves when it does too."""
    busy = [f"process {gpu} {pid} {50 * GB} 0 0" for gpu, pid in enumerate(pids)]
    rig.library([H100, {**H100, "percent": 0}], *busy)
    assert shift.after(900.0) == {}
    spent = shift.job()["spent"]
    assert (spent["gpus"], spent["gpu_memory_peak_bytes"]) == (2, 120 * GB)
    assert spent["energy_joules"] == pytest.approx(2 * 612 * spent["energy_seconds"], rel=0.01)
    assert "GPU 1 is allocated but idle" in shift.until("gpu_idle")
    rig.library([H100, H100], *busy)
    wait_until(lambda: shift.after(30.0) == {})


def test_a_neighbour_and_a_worker_on_the_wrong_gpu_are_told_when_they_stay(rig, shift, pids, tmp_path):
    """Each by name, and each gone when it goes."""
    other = tmp_path / "other"
    other.mkdir()
    env = {**os.environ, **work_environment(other), "CUDA_VISIBLE_DEVICES": "0"}
    with subprocess.Popen([sys.executable, "-c", WORK, "child"], env=env) as neighbour:
        try:
            stranger = computing(other, "0")
            mine = [f"process 0 {pids[0]} {50 * GB} 0 0", f"process 0 {pids[1]} {9 * GB} 0 0"]
            rig.library([H100, {**H100, "percent": 50}], *mine, f"process 0 {stranger} {20 * GB} 0 0")
            assert f"(pid {stranger}) with 21 GB is on GPU 0 too" in shift.until("gpu_shared")
            assert "worker 1 was given GPU 1 and computes on GPU 0" in shift.until("gpu_wrong")
        finally:
            neighbour.kill()
    rig.library([H100, H100], *(f"process {gpu} {pid} {GB} 0 0" for gpu, pid in enumerate(pids)))
    wait_until(lambda: shift.after(30.0) == {})


def test_a_job_that_computes_on_the_cpu_is_told(rig, shift, pids):
    """It was given two GPUs, and nothing of it is on any; one finding says so."""
    rig.library([{**H100, "percent": 0}, {**H100, "percent": 0}])
    assert shift.after(480.0) == {}
    assert "though it was given GPU 0, 1" in shift.until("gpu_unused")
    assert list(shift.after(1500.0)) == ["gpu_unused"]


def test_what_the_gpus_did_is_added_up_and_reported(rig, shift, pids, home):
    """One at 97 % and one idle for ten minutes: half of the time of GPUs is idle, and 612 watts each are energy."""
    first, second = pids
    busy = [f"process 0 {first} {50 * GB} 0 0", f"process 1 {second} {50 * GB} 0 0"]
    rig.library([H100, {**H100, "percent": 3}], *busy)
    for _ in range(60):
        shift.after(10.0)
    with open_store(str(home), readonly=True) as store:
        told: Any = report.document(store, shift.job()["ref"], Clock().now(), price=2.0)
    gpus, energy = told["gpus"], told["energy"]
    assert gpus["count"] == 2
    assert gpus["tenths"][0] == pytest.approx(0.5, abs=0.05)
    assert gpus["tenths"][9] == pytest.approx(0.5, abs=0.05)
    assert gpus["idle_fraction"] == pytest.approx(0.5, abs=0.05)
    assert gpus["used_mean"] == pytest.approx(0.5, abs=0.05)
    assert gpus["memory_peak_bytes"] == 120 * GB
    assert energy["seconds"] > 300
    assert energy["joules"] / energy["seconds"] == pytest.approx(2 * 612, rel=0.02)
    assert {"rss", "gpu_used", "gpu_memory", "watts"} <= set(told["readings"][-1])
    assert 5 < len(told["readings"]) <= 120
