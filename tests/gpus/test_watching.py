"""From `dogwatch run --gpu-ids` to what `status` says of its GPUs, with the real program and our library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gpus.rig import GB, H100, WORK, Rig, computing, work_environment
from tests.support import wait_until


@pytest.fixture
def started(rig: Rig, dogwatch, tmp_path: Path):
    """Two workers on GPU 0 and 1; returns the pids that compute."""
    rig.library([H100, H100])
    env = {**rig.environment(), **work_environment(tmp_path)}
    words = ["run", "--detach", "--name", "train", "--workers", "2", "--gpu-ids", "0", "1"]
    dogwatch(*words, "--", "python3", "-c", WORK, env=env)
    return [computing(tmp_path, gpu) for gpu in ("0", "1")]


def job(dogwatch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dogwatch("status", "train", "--json", "--no-poll").stdout)["jobs"][0]
    return found


def looked(dogwatch, rig: Rig, shows) -> dict[str, Any]:
    """The job once a patrol has seen what it should; one that comes too soon after another does not look."""

    def seen() -> dict[str, Any]:
        assert dogwatch("patrol", env=rig.environment()).returncode == 0
        found = job(dogwatch)
        return found if shows(found) else {}

    return wait_until(seen, timeout=60.0, pause=0.5)


def rules(found: dict[str, Any]) -> list[str]:
    return [one["rule"] for one in found["findings"]]


def test_a_run_shows_its_gpus_and_what_goes_wrong_with_them(started, rig, dogwatch):
    """Whose processes are on them, a memory error that was not there before, and a GPU that is lost."""
    first, second = started
    busy = [f"process 0 {first} {50 * GB} 0 0", f"process 1 {second} {50 * GB} 0 0"]
    rig.library([H100, {**H100, "percent": 3}], *busy)
    gpus = looked(dogwatch, rig, lambda found: found["gpus"])["gpus"]
    assert [(gpu["index"], gpu["percent"], gpu["memory_used_bytes"]) for gpu in gpus] == [
        (0, 97.0, 60 * GB),
        (1, 3.0, 60 * GB),
    ]
    assert [[(one["pid"], one["ours"]) for one in gpu["processes"]] for gpu in gpus] == [
        [(first, True)],
        [(second, True)],
    ]
    shown = [line.split() for line in dogwatch("status", "train").stdout.splitlines() if "  GPU 0 " in line]
    assert [" ".join(line) for line in shown] == ["GPU 0 97 %, 64.4 GB of 85.9 GB, 612 of 700 W, 61 °C"]
    assert [worker["gpu_percent"] for worker in job(dogwatch)["workers"]] == [97.0, 3.0]
    rig.library([{**H100, "ecc": 2}, H100], *busy, "code nvmlDeviceGetTemperature 15")
    seen = looked(dogwatch, rig, rules)
    texts = [found["text"] for found in seen["findings"] if found["rule"] == "gpu_broken"]
    assert any("GPU 0 has 2 uncorrectable memory errors" in text for text in texts)
    assert sum("cannot be used, the GPU is lost" in text for text in texts) == 2


def test_a_worker_that_was_given_a_gpu_that_is_not_there_is_told_at_once(started, rig, dogwatch):
    """One GPU for two workers: CUDA would say nothing, and the second would compute on the CPU."""
    rig.library([H100], f"process 0 {started[0]} {GB} 0 0")
    (found,) = looked(dogwatch, rig, rules)["findings"]
    assert (found["rule"], found["level"]) == ("gpu_wrong", "critical")
    assert "worker 1 was given GPU 1, and there is no such GPU" in found["text"]


def test_a_hung_driver_delays_no_look(started, rig, dogwatch, spawn):
    """The job is seen running, confirmed anew at every poll, and its GPUs are what is lacking."""
    rig.library([H100], "hang nvmlInit_v2")
    spawn("daemon", env=rig.environment())
    seen = wait_until(lambda: (found := job(dogwatch))["state"] == "running" and found)
    later = wait_until(lambda: (found := job(dogwatch))["confirmed_at"] > seen["confirmed_at"] and found)
    assert later["gpus"] == []
    assert later["findings"] == []


def test_doctor_says_how_gpus_are_read(rig, dogwatch):
    """By the library, by a program, or not at all."""

    def said() -> str:
        checks = json.loads(dogwatch("doctor", "--json", env=rig.environment()).stdout)["checks"]
        return next(check["text"] for check in checks if check["what"] == "GPUs")

    assert said() == "none found (no NVML, nvidia-smi, amd-smi or rocm-smi)"
    rig.library([H100, H100])
    assert said() == "2 × NVIDIA H100 80GB HBM3, read by NVML (driver 550.54.15)"
    rig.library([H100], "code nvmlInit_v2 18")
    assert "of different versions" in said()


def test_names_from_a_driver_do_not_reach_a_terminal_raw(started, rig, dogwatch):
    """What a library says is foreign text, like all else that is read there."""
    rig.library([{**H100, "name": "x\x1b]52;c;aGk=\x07y"}, H100], f"process 0 {started[0]} {GB} 0 0")
    assert looked(dogwatch, rig, lambda found: found["gpus"])["gpus"][0]["name"] == "xy"
    assert "\x1b" not in dogwatch("status", "train").stdout
