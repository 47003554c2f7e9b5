"""The minute before a job and its first one, with GPUs that are read by NVIDIA's library as we built it."""

from __future__ import annotations

import json

from tests.gpus.rig import GB, H100, Rig
from tests.gpus.test_watching import looked, started

__all__ = ["started"]


def seen_at(found: dict) -> dict[str, float]:
    return {check["what"]: check["seconds"] for check in (found["launch"] or {}).get("checks", ()) if check["ok"]}


def test_a_launch_is_on_its_gpus_and_uses_them(started, rig, dogwatch):
    """Each with the time it took; a launch that has not reached its GPUs is not verified yet."""
    first, second = started
    rig.library([{**H100, "percent": 0}, {**H100, "percent": 0}])
    found = looked(dogwatch, rig, lambda found: (found["launch"] or {}).get("checks"))
    assert "gpu use" not in seen_at(found)
    rig.library([H100, H100], f"process 0 {first} {50 * GB} 0 0", f"process 1 {second} {50 * GB} 0 0")
    found = looked(dogwatch, rig, lambda found: {"gpus", "gpu use"} <= seen_at(found).keys())
    assert all(0 <= seconds < 120 for seconds in seen_at(found).values())


def test_preflight_sees_who_is_on_a_gpu_by_the_library(started, rig: Rig, dogwatch):
    """The workers of the other job are named with their pid, and the free GPU passes."""
    rig.library([H100, {**H100, "percent": 0, "used": 0}], f"process 0 {started[0]} {50 * GB} 0 0")
    done = dogwatch("preflight", "--json", "--gpu-ids", "0", "1", "--", "true", env=rig.environment())
    lines = {line["what"]: (line["verdict"], line["text"]) for line in json.loads(done.stdout)["checks"]}
    verdict, text = lines["gpu 0"]
    assert verdict == "fail"
    assert f"(pid {started[0]} of " in text
    assert "gpu 1" not in lines
    assert done.returncode == 1


def test_preflight_does_not_wait_for_a_driver_that_hangs(rig: Rig, dogwatch):
    """It fails what needs a GPU, and the rest is judged."""
    rig.library([H100], "hang nvmlInit_v2")
    done = dogwatch("preflight", "--json", "--most", "5s", "--gpu-ids", "0", "--", "true", env=rig.environment())
    lines = {line["what"]: (line["verdict"], line["text"]) for line in json.loads(done.stdout)["checks"]}
    assert lines["gpus"][0] == "fail"
    assert "did not answer" in lines["gpus"][1]
    assert lines["command"][0] == "pass"
