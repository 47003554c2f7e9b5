"""The demo is real: its script learns, saves whole checkpoints and can diverge, and the tour leaves nothing behind."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import safe_open

from tests.support import wait_until

JOB = Path(__file__).parent.parent / "src" / "dogwatch" / "demo_job.py"


def start(out: Path, *args: object, worker: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", str(JOB), "--out", str(out), *map(str, args)],
        env={**os.environ, "DOGWATCH_WORKER": str(worker), "DOGWATCH_WORKERS": "2"},
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


def metrics(out: Path, worker: int = 0) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / f"metrics_{worker}.jsonl").read_text().splitlines()]


def saved_steps(out: Path, worker: int) -> list[int]:
    found = (out / "checkpoints").glob(f"worker{worker}_step_*.safetensors")
    return sorted(int(path.stem.rpartition("_")[2]) for path in found)


def test_two_workers_train_beside_one_another_and_complete(tmp_path):
    """Each worker ends with code 0, its last line says so, and its files carry its own number."""
    jobs = [start(tmp_path, "--steps", 50, worker=k) for k in range(2)]
    for worker, job in enumerate(jobs):
        code, out, err = finish(job)
        assert (code, err) == (0, "")
        assert "INFO Training completed" in out.splitlines()[-1]
        assert metrics(tmp_path, worker)[-1]["step"] == 50
        assert saved_steps(tmp_path, worker) == [10, 20, 30, 40, 50]


def test_the_loss_really_falls(tmp_path):
    """The numbers come from learning, measured on points that were never trained on."""
    assert finish(start(tmp_path, "--steps", 400))[0] == 0
    seen = metrics(tmp_path)
    assert seen[-1]["loss"] < seen[0]["loss"] * 0.5


def test_its_log_counts_steps_and_loss(tmp_path):
    """The log has the plain shape that Dogwatch reads progress from."""
    _, out, _ = finish(start(tmp_path, "--steps", 20))
    steps = [line.split(" INFO ")[1].split(" loss: ")[0] for line in out.splitlines() if "INFO step " in line]
    assert steps[0] == "step 1/20"
    assert steps[19] == "step 20/20"


def test_a_checkpoint_is_one_that_its_library_opens(tmp_path):
    """The safetensors file holds the weights and the step."""
    assert finish(start(tmp_path, "--steps", 5))[0] == 0
    with safe_open(tmp_path / "checkpoints" / "worker0_step_5.safetensors", "numpy") as file:
        assert file.metadata() == {"step": "5"}
        assert file.get_tensor("hidden").shape == (24, 3)
        assert file.get_tensor("out").shape == (24,)


def test_a_learning_rate_that_is_too_high_ends_in_a_real_traceback(tmp_path):
    """The network diverges by itself; the last metric is no number."""
    code, out, err = finish(start(tmp_path, "--steps", 300, "--lr", 2))
    assert code == 1
    assert err.startswith("Traceback")
    assert "FloatingPointError: loss is " in err
    assert "Training completed" not in out
    assert not math.isfinite(metrics(tmp_path)[-1]["loss"])


def test_it_measures_how_many_steps_fit_into_the_time(tmp_path):
    """Without --steps it chooses a number for this machine."""
    code, out, _ = finish(start(tmp_path, "--seconds", 0.5))
    assert code == 0
    assert int(out.split(" steps of ")[0].rpartition(" ")[2]) >= 100


def test_sigterm_saves_where_it_was_and_exits_143(tmp_path):
    """Asked to stop in the middle of a long run, it leaves a checkpoint of the last finished batch at once."""
    job = start(tmp_path, "--steps", 1_000_000)
    assert job.stdout is not None
    job.stdout.readline()
    job.send_signal(signal.SIGTERM)
    code, out, _ = finish(job)
    assert code == 143
    assert "Training completed" not in out
    assert len(saved_steps(tmp_path, 0)) == 1


def test_an_impossible_request_is_refused(tmp_path):
    """Nothing is written for a run of no steps."""
    code, _, err = finish(start(tmp_path / "out", "--steps", 0))
    assert code == 2
    assert "--steps must be at least 1" in err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder in which temporary folders are made."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def demo(home: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dogwatch", "demo", *words],
        env={**os.environ, "DOGWATCH_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_demo_shows_a_success_a_failure_its_cause_a_checkpoint_and_an_alert(home, temporary):
    """All of it really happens, and neither the user's own store nor the temporary folder keeps anything."""
    code, out, err = finish(demo(home, "--seconds", "5"))
    assert code == 0, out + err
    why, check, alerts = (out.partition(f"\n{number}. ")[2].partition("\n\n")[0] for number in (4, 5, 6))
    assert "train: running → ended, succeeded" in out
    assert "the loss became NaN or infinite" in why
    assert "FloatingPointError: loss is " in why
    assert "do: " in why
    assert "\nintact " in check
    assert alerts.count("CRITICAL") == 1
    assert "high-lr" in alerts
    assert list(home.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_the_demo_as_json_is_one_document(home, temporary):
    """Both jobs, and nothing else on stdout."""
    code, out, err = finish(demo(home, "--seconds", "4", "--json"))
    assert code == 0, err
    assert [job["outcome"] for job in json.loads(out)["jobs"]] == ["succeeded", "failed"]


def processes_in(folder: Path) -> list[str]:
    """Processes that work in a folder or name it in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and str(folder) in f"{(entry / 'cwd').readlink()} {(entry / 'cmdline').read_text()}"
            ):
                found.append(entry.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_nothing_behind(home, temporary, number):
    """It says that its jobs stop, and stops them."""
    running = demo(home, "--seconds", "60")
    wait_until(lambda: list(temporary.rglob("*.safetensors")) or running.poll() is not None, timeout=60)
    assert processes_in(temporary)
    running.send_signal(number)
    code, _, err = finish(running)
    assert code == 130
    assert "demo stopped" in err
    wait_until(lambda: not processes_in(temporary))
    assert list(temporary.iterdir()) == []
