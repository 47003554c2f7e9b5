"""The demo's job is a real one: it learns, keeps its pace, saves whole checkpoints and can fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import wait_until

JOB = Path(__file__).parent.parent / "src" / "dogwatch" / "demo_job.py"


def start(out: Path, *args: object, worker: int = 0, workers: int = 4) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", str(JOB), "--out", str(out), *map(str, args)],
        env={**os.environ, "DOGWATCH_WORKER": str(worker), "DOGWATCH_WORKERS": str(workers)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(job: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit code, stdout and stderr; nothing is left running when this takes too long."""
    try:
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    return job.returncode, out, err


def records(out: Path, worker: int) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / f"output_worker_{worker}.jsonl").read_text().splitlines()]


def checkpoints(out: Path, worker: int) -> dict[int, dict[str, object]]:
    found = (out / "checkpoints").glob(f"checkpoint_worker_{worker}_step_*.json")
    return {int(path.stem.rpartition("_")[2]): json.loads(path.read_text()) for path in found}


def test_four_workers_train_beside_one_another_and_complete(tmp_path):
    """Each worker ends with code 0, its last line says so, and its files carry its own number."""
    jobs = [start(tmp_path, "--seconds", 0.5, "--items", 200, worker=k) for k in range(4)]
    for worker, job in enumerate(jobs):
        code, out, err = finish(job)
        assert (code, err) == (0, "")
        assert "INFO Training completed" in out.splitlines()[-1]
        assert [record["items"] for record in records(tmp_path, worker)] == list(range(20, 201, 20))
        assert sorted(checkpoints(tmp_path, worker)) == [40, 80, 120, 160, 200]


def test_the_loss_really_falls(tmp_path):
    """The numbers come from learning: loss falls and accuracy beats guessing on points never trained on."""
    assert finish(start(tmp_path, "--seconds", 0, "--items", 2000))[0] == 0
    seen = records(tmp_path, 0)
    assert seen[-1]["loss"] < seen[0]["loss"] * 0.8
    assert seen[-1]["accuracy"] > 0.75


def test_its_log_counts_items_rate_and_loss(tmp_path):
    """The log has the plain shape that Dogwatch reads progress from."""
    _, out, _ = finish(start(tmp_path, "--seconds", 0, "--items", 30))
    assert [line.split(" INFO ")[1].split(" items (")[0] for line in out.splitlines() if "Processed" in line] == [
        "Processed 20/30",
        "Processed 30/30",
    ]
    assert " items/s) loss: 0." in out


@pytest.mark.parametrize(("worker", "code"), [(1, 1), (2, 0)])
def test_a_damaged_item_fails_the_worker_that_meets_it_and_no_other(tmp_path, worker, code):
    """--fail-at is a real exception with a traceback, in the one worker that --fail-worker names."""
    got, out, err = finish(
        start(tmp_path, "--seconds", 0, "--items", 100, "--fail-at", 50, "--fail-worker", 1, worker=worker)
    )
    assert got == code
    assert ("ValueError" in err) == bool(code)
    assert ("Training completed" in out) != bool(code)


def test_sigterm_saves_where_it_was_and_exits_143(tmp_path):
    """Asked to stop in the middle of an hour, it leaves a checkpoint of the last finished batch at once."""
    job = start(tmp_path, "--seconds", 3600, "--items", 100)
    output = tmp_path / "output_worker_0.jsonl"
    wait_until(lambda: output.exists() and output.read_text())
    job.send_signal(signal.SIGTERM)
    code, out, _ = finish(job)
    assert code == 143
    assert "Training completed" not in out
    assert list(checkpoints(tmp_path, 0)) == [20]


def test_an_impossible_request_is_refused(tmp_path):
    """Nothing is written for a run of no items."""
    code, _, err = finish(start(tmp_path / "out", "--items", 0))
    assert code == 2
    assert "--items must be at least 1" in err
    assert not (tmp_path / "out").exists()
