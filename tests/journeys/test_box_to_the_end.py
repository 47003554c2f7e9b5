"""From a rented box to a stopped one: a chain runs, its results come home, and only then it is safe to stop; or it is
cancelled."""

from __future__ import annotations

import json
from typing import Any

from tests.lab.box import Box, Boxes
from tests.support import wait_until


def rented(boxes: Boxes, dogwatch) -> Box:
    box = boxes.start("gpu")
    words = ["--ssh-config", boxes.ssh_config, "--floor", "1s", "--profile", "vast"]
    assert dogwatch("host", "add", "gpu", *words).returncode == 0
    return box


def job(dogwatch, name: str = "train") -> dict[str, Any]:
    dogwatch("patrol")
    return dict(json.loads(dogwatch("status", name, "--no-poll", "--json").stdout)["jobs"][0])


def run(dogwatch, *stages: str) -> None:
    given = [word for stage in stages for word in ("--stage", stage)]
    words = ["--on", "gpu", "--name", "train", "--cwd", "/tmp", "--output", "/tmp/out/*.json", "--detach"]
    done = dogwatch("run", *words, *given, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_box_can_be_stopped_when_all_is_done_and_here(boxes: Boxes, dogwatch, tmp_path) -> None:
    """While the chain runs the fetch says which; afterwards it says that nothing would be lost, and how to stop."""
    rented(boxes, dogwatch)
    run(
        dogwatch,
        "train: mkdir -p out; echo 1 >out/a.json",
        "eval: until [ -e go ]; do sleep 0.2; done; echo 2 >out/b.json",
    )
    wait_until(lambda: (job(dogwatch)["native"] or "").startswith("stage eval"), timeout=90)
    early = dogwatch("fetch", "train", "--to", tmp_path / "got")
    assert early.returncode == 0, early.stderr
    assert "do not stop gpu yet" in early.stdout
    assert "train still runs (stage eval (2 of 2))" in early.stdout
    boxes.boxes["gpu"].sh("touch /tmp/go")
    wait_until(lambda: job(dogwatch)["state"] == "ended", timeout=90)
    assert job(dogwatch)["outcome"] == "succeeded"
    done = dogwatch("fetch", "train")
    assert done.returncode == 0, done.stderr
    assert "gpu can be stopped without losing anything that was declared" in done.stdout
    assert "vastai stop instance" in done.stdout
    assert sorted(path.name for path in (tmp_path / "got").iterdir()) == ["a.json", "b.json"]
    logs = dogwatch("fetch", "train", "--results", "~/.dogwatch/runs/*/*", "--to", tmp_path / "run")
    assert logs.returncode == 0, logs.stderr
    names = {path.name for path in (tmp_path / "run").rglob("*")}
    assert {"stage-0.log", "stage-1.log", "spec.json"} <= names
    assert not names & {"environment.sh", "push.conf"}
    assert "environment.sh is a file of the run that may hold secrets" in logs.stdout


def test_a_chain_is_cancelled_with_its_supervisor(boxes: Boxes, dogwatch) -> None:
    """Nothing of it is left on the box, no later stage runs, the records say who, and the outcome is cancelled."""
    box = rented(boxes, dogwatch)
    run(dogwatch, "train: sleep 1000", "eval: touch /tmp/ran")
    wait_until(lambda: any("sleep 1000" in line for line in box.processes()), timeout=60)
    wait_until(lambda: job(dogwatch)["state"] == "running", timeout=60)
    done = dogwatch("cancel", "train", "--yes", "--grace", "5s", "--json", timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    by = json.loads(done.stdout)["by"]
    assert [line for line in box.processes() if "sleep 1000" in line or "chain.sh" in line] == []
    ended = wait_until(lambda: (now := job(dogwatch))["state"] == "ended" and now, timeout=60)
    assert ended["outcome"] == "cancelled"
    assert by in ended["reason"]
    (directory,) = (box.home / ".dogwatch/runs").iterdir()
    assert json.loads((directory / "cancelled.json").read_text())["by"] == by
    assert "ran" not in box.sh("ls /tmp").split()
