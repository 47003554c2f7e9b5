"""`dogwatch cancel` ends a job and all of it, only on a clear word, and nothing that is not it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.box import Box, Boxes
from tests.support import wait_until

TREE = "sh -c 'trap \"\" TERM; sleep 1000 & echo $! >child; wait' & sleep 1000"


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else with the same command."""
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def start(dogwatch, tmp_path: Path, *command: str, name: str = "train") -> None:
    done = dogwatch("run", "--detach", "--name", name, "--cwd", tmp_path, "--", *command)
    assert done.returncode == 0, done.stderr


def job(dogwatch, name: str = "train") -> dict[str, Any]:
    return dict(json.loads(dogwatch("status", name, "--json").stdout)["jobs"][0])


def host(boxes: Boxes, dogwatch) -> Box:
    box = boxes.start("gpu")
    done = dogwatch("host", "add", "gpu", "--ssh-config", boxes.ssh_config, "--floor", "1s")
    assert done.returncode == 0, done.stderr
    return box


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_run_is_ended_with_all_that_it_started(dogwatch, tmp_path, bystander) -> None:
    """Also what ignores SIGTERM; the outcome is cancelled, with who did it, and a stranger is left alone."""
    start(dogwatch, tmp_path, "sh", "-c", TREE)
    wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    child = int((tmp_path / "child").read_text())
    done = dogwatch("cancel", "train", "--yes", "--grace", "1s", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["cancelled"] is True
    assert told["left"] == []
    assert not is_alive(child)
    ended = wait_until(lambda: (now := job(dogwatch))["state"] == "ended" and now)
    assert ended["outcome"] == "cancelled"
    assert told["by"] in ended["reason"]
    assert bystander.poll() is None
    kinds = [event["kind"] for event in json.loads(dogwatch("events", "--json").stdout)["events"]]
    assert kinds.index("job.cancel") < kinds.index("job.cancelled")
    again = dogwatch("cancel", "train", "--yes")
    assert again.returncode == 2
    assert "has ended already (cancelled)" in again.stderr


def test_nothing_is_ended_without_a_yes(dogwatch, tmp_path) -> None:
    """Without a terminal --yes is needed, and a wrong flag ends nothing either."""
    start(dogwatch, tmp_path, "sleep", "1000")
    worker = wait_until(lambda: job(dogwatch)["workers"])[0]
    for words, said in (
        (["cancel", "train"], "to confirm: dogwatch cancel train --yes"),
        (["cancel", "train", "--yes", "--signal", "KILL"], "--signal takes the name of a signal"),
        (["cancel", "train", "--yes", "--grace", "2h"], "--grace takes a time up to 60m"),
        (["cancel", "nobody", "--yes"], "no job named 'nobody'"),
    ):
        done = dogwatch(*words, input="yes\n")
        assert done.returncode in (2, 4)
        assert said in done.stderr
    assert is_alive(worker["pid"])


def test_a_process_that_got_the_number_is_not_the_job(dogwatch, tmp_path, bystander) -> None:
    """By pid, start time and boot: where one of them differs nothing is signalled, and that is said."""
    start(dogwatch, tmp_path, "sleep", "1000")
    worker = wait_until(lambda: job(dogwatch)["workers"])[0]
    record = next(tmp_path.rglob("worker-0.start.json"))
    known = json.loads(record.read_text())
    for other, said in (({"pid": bystander.pid}, "belongs to another process"), ({"boot": "0"}, "was started again")):
        record.write_text(json.dumps({**known, **other}))
        done = dogwatch("cancel", "train", "--yes", "--grace", "1s")
        assert done.returncode == 1
        assert said in done.stdout
    assert bystander.poll() is None
    assert is_alive(worker["pid"])


def test_a_process_of_somebody_else_is_ended_with_its_children(dogwatch, tmp_path) -> None:
    """One that was added by its pid, and what it started, but not the shell around it."""
    script = "sh -c 'sleep 1000 & echo $! >child; wait' & echo $! >main; wait; sleep 1000"
    outer = subprocess.Popen(["sh", "-c", script], cwd=tmp_path, start_new_session=True)
    try:
        wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
        main, child = (int((tmp_path / name).read_text()) for name in ("main", "child"))
        added = dogwatch("add", "process", str(main), "--name", "theirs")
        assert added.returncode == 0, added.stderr
        done = dogwatch("cancel", "theirs", "--yes", "--grace", "2s")
        assert done.returncode == 0, done.stdout + done.stderr
        assert not is_alive(main)
        assert not is_alive(child)
        assert outer.poll() is None
        ended = wait_until(lambda: (now := job(dogwatch, "theirs"))["state"] == "ended" and now)
        assert ended["outcome"] == "cancelled"
    finally:
        os.killpg(outer.pid, signal.SIGKILL)
        outer.wait()


@pytest.mark.long
def test_a_tmux_session_of_a_box_is_ended_and_no_other(boxes: Boxes, dogwatch) -> None:
    """By the session that it was registered with; one that was made anew under its name is another one."""
    box = host(boxes, dogwatch)
    box.sh("tmux new-session -d -s other 'sleep 2000'; tmux new-session -d -s train 'sleep 1000; sleep 1001'")
    added = dogwatch("add", "box", "--host", "gpu", "--tmux", "train", "--log", "/tmp/train.log", "--name", "train")
    assert added.returncode == 0, added.stderr
    wait_until(lambda: dogwatch("patrol").returncode in (0, 1) and job(dogwatch)["state"] == "running", timeout=60)
    done = dogwatch("cancel", "train", "--yes", "--grace", "5s")
    assert done.returncode == 0, done.stdout + done.stderr
    left = " ".join(box.processes())
    assert "sleep 2000" in left
    assert "sleep 100" not in left
    box.sh("sleep 1.1; tmux new-session -d -s train 'sleep 3000'")
    again = dogwatch("cancel", "train", "--yes", "--grace", "1s")
    assert again.returncode in (1, 2)
    assert "sleep 3000" in " ".join(box.processes())


@pytest.mark.long
def test_a_box_that_was_recycled_is_left_alone(boxes: Boxes, dogwatch) -> None:
    """Another machine id under the same address: nothing is signalled there, whatever numbers its processes have."""
    box = host(boxes, dogwatch)
    pid = box.sh("sleep 1000 >/dev/null 2>&1 & echo $!").strip()
    added = dogwatch("add", "box", "--host", "gpu", "--pid", pid, "--log", "/tmp/train.log", "--name", "train")
    assert added.returncode == 0, added.stderr
    wait_until(lambda: dogwatch("patrol").returncode in (0, 1) and job(dogwatch)["state"] == "running", timeout=60)
    box.recycle(known=True)
    box.sh("for n in 1 2 3 4 5 6 7 8 9; do sleep 1000 >/dev/null 2>&1 & done")
    done = dogwatch("cancel", "train", "--yes", "--grace", "1s")
    assert done.returncode == 1
    assert "this is another machine than the one that it ran on" in done.stdout
    assert len([line for line in box.processes() if "sleep 1000" in line]) == 9
