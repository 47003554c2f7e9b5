"""The checklist on another machine: one connection, its own environment, nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.preflight.conftest import Preflight, program
from tests.support import wait_until, with_the_probe
from tests.transport.sshd import Sshd, probes


@pytest.fixture
def box(dogwatch, sshd: Sshd) -> Sshd:
    sshd.start(env="ONLY_THERE=1")
    added = dogwatch("host", "add", "box", "--ssh-config", sshd.config)
    assert added.returncode == 0, added.stderr
    return sshd


def connections(sshd: Sshd) -> int:
    return (sshd.directory / "sshd.log").read_text().count("Accepted publickey")


def test_the_checklist_is_one_round_trip_to_the_place(preflight: Preflight, box: Sshd, tmp_path: Path) -> None:
    """With the environment and the home directory of that place, not with ours."""
    program(box.home / "train.sh", "#!/bin/sh\n")
    (box.home / "data").mkdir()
    (box.home / "data" / "a.json").write_text("{}")
    before = connections(box)
    told = preflight(
        *("--host", "box", "--inputs", "data", "--output-dir", "out", "--env", "ONLY_THERE", "ONLY_HERE"),
        *("--", "./train.sh"),
        env={"ONLY_HERE": "1"},
    )
    assert told.document["host"] == "box"
    assert told.of("command") == ("pass", f"{box.home}/./train.sh")
    assert told.of("variables") == ("fail", "not set or empty where it will run: ONLY_HERE")
    assert told.of("output directory") == ("pass", f"{box.home}/out does not exist yet and can be created")
    assert told.of("inputs")[1].endswith(" bytes, all readable, 1 intact")
    assert connections(box) == before + 1
    wait_until(lambda: not probes())


def test_a_place_that_does_not_answer_is_not_judged(preflight: Preflight, box: Sshd) -> None:
    """Exit 3, no verdict, and why; channels are tried all the same."""
    box.end()
    told = preflight("--host", "box", "--", "true")
    assert told.code == 3
    assert told.document["verdict"] is None
    assert told.document["unreachable"]
    assert told.about() == ["alerts"]
    assert "box is unreachable" in told.said


def test_a_hang_there_ends_with_the_deadline(preflight: Preflight, box: Sshd) -> None:
    """An interpreter that never answers is ended with all that it started."""
    program(box.home / "python7", f"#!/bin/sh\ntouch {box.home}/began\nsleep 612 & sleep 612\n")
    told = preflight("--host", "box", "--most", "3s", "--", "./python7", "-c", "pass")
    assert told.verdict("interpreter") == "fail"
    assert (box.home / "began").exists()
    wait_until(lambda: subprocess.run(["pgrep", "-fx", "sleep 612"], capture_output=True).stdout == b"")


def test_the_errand_runs_on_an_old_python(tmp_path: Path) -> None:
    """A login node may have no other: every question is answered there as here."""
    old = shutil.which("python3.6")
    if not old or subprocess.run([old, "-I", "-S", "-c", ""], capture_output=True).returncode:
        pytest.skip("needs a python3.6 on the PATH")
    (tmp_path / "é.json").write_text("{}")
    call = {
        **{"seconds": 20.0, "env": {"PATH": os.environ["PATH"]}, "set": {}, "cwd": str(tmp_path), "gpus": True},
        **{"words": ["python3", "-c", "pass"], "modules": ["json"], "variables": ["PATH"], "shown": ["PATH"]},
        **{"directories": [str(tmp_path)], "inputs": ["*.json"], "network": ["127.0.0.1:1"], "signals": ["USR1"]},
        **{"logs": "*.log", "checkpoints": "*.json", "slurm": str(tmp_path / "none.sh")},
    }
    text = (
        "import json, sys\nnames = {'__name__': 'extra_probe'}\n"
        f"exec({with_the_probe('preflight')!r}, names)\n"
        "print(json.dumps(names['extra_probe'](json.loads(sys.stdin.read()))))\n"
    )
    import json

    asker = tmp_path / "ask.py"
    asker.write_text(text)
    told = []
    for python in (old, shutil.which("python3") or "python3"):
        done = subprocess.run(
            [python, "-I", "-S", str(asker)],
            input=json.dumps(call),
            capture_output=True,
            text=True,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout)["found"])
    assert [name for name, row in told[0].items() if not row["ok"]] == []
    assert set(told[0]) == set(told[1])
    assert told[0]["inputs:*.json"]["found"] == told[1]["inputs:*.json"]["found"]
    assert told[0]["program"]["found"]["modules"] == told[1]["program"]["found"]["modules"]
