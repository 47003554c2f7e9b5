"""What Slurm would say of a script that was not submitted: on the real cluster, by `sbatch --test-only`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.watch import Watcher


def script(watch: Watcher, name: str, *directives: str) -> Path:
    """A batch script in the home of the user that the host is reached as."""
    path = Path(watch.lab.home("alice"), name)
    path.write_text("#!/bin/sh\n" + "".join(f"#SBATCH {line}\n" for line in directives) + "sleep 60\n")
    path.chmod(0o755)
    return path


def checked(watch: Watcher, path: Path, *flags: str) -> tuple[int, dict[str, tuple[str, str]]]:
    done = watch.run("preflight", "--json", "--host", "lab", "--slurm", path, *flags, timeout=120)
    told: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, {line["what"]: (line["verdict"], line["text"]) for line in told["checks"]}


def test_a_script_that_slurm_would_take_passes_and_is_not_submitted(watch: Watcher) -> None:
    """When and where it would start, by the controller's own word."""
    path = script(watch, "good.sbatch", "--ntasks=2", "--time=5", "--output=good-%j.log", "--signal=B:USR1@60")
    code, lines = checked(watch, path, "--signal", "USR1")
    assert code == 0, lines
    verdict, text = lines["slurm"]
    assert verdict == "pass"
    assert text.startswith("would start at 20")
    assert "nothing was submitted" in text
    assert lines["slurm signal"] == ("pass", "--signal=B:USR1@60")
    assert watch.lab.run("alice", "squeue", "-h", "-u", "alice").stdout == ""


@pytest.mark.parametrize(
    ("directive", "part"),
    [
        ("--partition=nonesuch", "nvalid partition name"),
        ("--account=nobodys", "nvalid account"),
        ("--gres=gpu:99", "configuration is not available"),
    ],
)
def test_what_slurm_would_refuse_is_told_in_its_words(watch: Watcher, directive: str, part: str) -> None:
    """Before anybody waits a day in the queue for it."""
    code, lines = checked(watch, script(watch, "bad.sbatch", *directive.split()))
    assert code == 1
    verdict, text = lines["slurm"]
    assert verdict == "fail"
    assert part in text, text


def test_an_output_directory_that_slurm_would_not_make_fails(watch: Watcher) -> None:
    """Slurm takes such a job and ends it at once with 0:53."""
    path = script(watch, "lost.sbatch", "--output=nowhere/%j.log")
    code, lines = checked(watch, path)
    assert (code, lines["slurm"][0], lines["slurm output"][0]) == (1, "pass", "fail")


def test_a_script_that_is_not_there_fails(watch: Watcher) -> None:
    """It is a path on that host."""
    code, lines = checked(watch, Path("/no/such.sbatch"))
    assert (code, lines["slurm"]) == (1, ("fail", "/no/such.sbatch is not there"))
