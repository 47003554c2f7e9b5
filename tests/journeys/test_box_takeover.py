"""Somebody takes over rented boxes: what the store believes is compared with what is there, and nothing is changed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from dogwatch.cli.parser import parser_of
from tests.lab.box import Box, Boxes, boxes
from tests.support import wait_until

__all__ = ["boxes"]

HOME = "/root"  # of the box
STAGES = ("--stage", "train: echo began; until [ -e ~/go ]; do sleep 0.1; done", "--stage", "eval: true")

FILES = "find ~/.dogwatch -type f ! -name 'heartbeat*' -printf '%p %s %T@\\n' | sort"  # as they are


@pytest.fixture
def box(boxes: Boxes, dogwatch) -> Box:
    made = boxes.start("gpu")
    added = dogwatch("host", "add", "gpu", "--ssh-config", boxes.ssh_config, "--floor", "1s")
    assert added.returncode == 0, added.stderr
    return made


def taken_over(dogwatch, **more) -> tuple[int, dict[str, Any]]:
    done = dogwatch("takeover", "--json", **more)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def kinds(found: dict[str, Any]) -> list[str]:
    """What differs, without what every home without a daemon has."""
    return [row["kind"] for row in found["differences"] if row["kind"] != "no_watcher"]


def test_what_is_on_a_box_is_compared_by_one_connection_and_each_difference_has_a_command(
    box: Box, boxes: Boxes, dogwatch, tmp_path: Path
) -> None:
    """A chain and a session that another store started, an end that has not been seen, and a cut link."""
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    elsewhere = {"DOGWATCH_HOME": str(other)}
    assert dogwatch("host", "add", "gpu", "--ssh-config", boxes.ssh_config, env=elsewhere).returncode == 0
    started = dogwatch("run", "--on", "gpu", "--detach", "--name", "theirs", *STAGES, env=elsewhere)
    assert started.returncode == 0, started.stderr
    box.run("tmux", "new-session", "-d", "-s", "by-hand", "sleep 600")
    started = dogwatch("run", "--on", "gpu", "--detach", "--name", "ours", *STAGES)
    assert started.returncode == 0, started.stderr
    assert dogwatch("wait", "ours", "--for", "running", "--timeout", "40").returncode == 0
    before = box.connections(), box.sh(FILES)
    code, found = taken_over(dogwatch)
    assert box.connections() == before[0] + 1
    assert box.sh(FILES) == before[1]
    assert (code, sorted(kinds(found)), found["reached"]) == (1, ["unknown_run", "unknown_session"], ["gpu"])
    for row in found["differences"]:
        words = shlex.split(row["command"])
        parser_of(words[1]).parse_args(words[2:])
    adopt = next(shlex.split(row["command"]) for row in found["differences"] if row["kind"] == "unknown_run")
    adopted = dogwatch(*adopt[1:])
    assert adopted.returncode == 0, adopted.stderr
    assert kinds(taken_over(dogwatch)[1]) == ["unknown_session"]
    box.run("tmux", "kill-session", "-t", "by-hand")
    (box.home / "go").touch()
    wait_until(lambda: len(list((box.home / ".dogwatch" / "runs").glob("*/end.json"))) == 2)
    ended = taken_over(dogwatch)[1]
    assert "ended" in kinds(ended), ended
    assert dogwatch("wait", "ours", "theirs", "--timeout", "60").returncode == 0
    assert kinds(taken_over(dogwatch)[1]) == []
    box.cut()
    code, dark = taken_over(dogwatch)
    assert (code, kinds(dark), list(dark["unreachable"])) == (3, ["unreachable"], ["gpu"])


def test_the_handbook_of_a_chain_has_the_exact_commands(box: Box, boxes: Boxes, dogwatch) -> None:
    """They run as they are: resume starts the stage that failed once more, and what the stage left is there."""
    stages = ("--stage", "train: true", "--stage", "eval: test -e ~/data || exit 4")
    started = dogwatch("run", "--on", "gpu", "--detach", "--name", "chain", *stages)
    assert started.returncode == 0, started.stderr
    at_stage = dogwatch("wait", "chain", "--for", "stage:train", "--timeout", "60")
    assert (at_stage.returncode, "stage train is done" in at_stage.stdout) == (0, True), at_stage.stderr
    failed = dogwatch("wait", "chain", "--for", "stage:eval", "--timeout", "60")
    assert (failed.returncode, "stage eval failed" in failed.stderr) == (1, True), failed.stderr
    wrong = dogwatch("wait", "chain", "--for", "stage:evall", "--timeout", "60")
    assert (wrong.returncode, "its stages: train, eval" in wrong.stderr) == (2, True)
    page = dogwatch("handbook", "chain").stdout
    book = json.loads(dogwatch("handbook", "chain", "--json").stdout)
    [job] = book["jobs"]
    assert [(stage["name"], stage["state"]) for stage in job["stages"]] == [("train", "done"), ("eval", "failed")]
    assert f"marker `{job['directory']}/stage-0.done`" in page
    assert (box.home / Path(job["directory"]).relative_to(HOME) / "stage-0.done").exists()
    (box.home / "data").touch()
    resume = next(row["command"] for row in job["commands"] if row["what"] == "resume it")
    words = shlex.split(resume)
    assert words[0] == "ssh"
    resumed = boxes.ssh("gpu", words[-1])
    assert resumed.returncode == 0, resumed.stderr
    wait_until((box.home / Path(job["directory"]).relative_to(HOME) / "stage-1.done").exists)
