"""The last minute of a job, as its owner meets it: what it left is judged, named, and told by the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

WHOLE = r'printf \'{"i": 1}\n{"i": 2}\n\' > out.jsonl; '.replace("\\'", "'")


def ended(dogwatch, where: Path, script: str, *flags: str):
    """What `wait` says of a job that ran `script` in `where`."""
    started = dogwatch("run", "--detach", "--name", "job", "--cwd", where, *flags, "--", "sh", "-c", script)
    assert started.returncode == 0, started.stderr
    return dogwatch("wait", "job", "--timeout", "30")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("printf x > out.jsonl.tmp", "out.jsonl.tmp was left behind unfinished"),
        ("printf '{\"i\": ' >> out.jsonl", "out.jsonl ends in the middle of its last line (line 3)"),
        ("> out-2.jsonl", "out-2.jsonl)"),
        ("rm out.jsonl", "no output file matches "),
        ("mv out.jsonl out.jsonl.tmp", "out*.jsonl; out.jsonl.tmp was left behind unfinished"),
        ("printf x > old.tmp", ""),
    ],
)
def test_what_a_job_left_unfinished_is_named_by_wait(dogwatch, tmp_path, script: str, said: str) -> None:
    """Patterns are the job's own, relative to where it starts; a success that is none is told with the file's name."""
    waited = ended(dogwatch, tmp_path, WHOLE + script, "--output", "out*.jsonl")
    assert waited.returncode == (1 if said else 0), waited.stdout
    assert ("incomplete" if said else "succeeded") in waited.stdout
    assert ("succeeded" in waited.stdout) != bool(said)
    assert said in waited.stdout


def test_two_patterns_may_mean_the_same_file(dogwatch, tmp_path) -> None:
    """Neither is then said to match nothing."""
    waited = ended(dogwatch, tmp_path, WHOLE, "--output", "out*.jsonl", "--output", "out*", "--output", "*.jsonl")
    assert (waited.returncode, "incomplete" in waited.stdout) == (0, False), waited.stdout


def test_a_file_left_by_one_job_is_not_held_against_another_of_the_same_directory(dogwatch, tmp_path) -> None:
    """Two jobs that end together and write side by side are judged each by its own files."""
    for name in ("a", "b"):
        script = WHOLE.replace("out.", f"{name}.") + ("printf x > a.jsonl.tmp" if name == "a" else "true")
        flags = ["--name", name, "--cwd", tmp_path, "--output", f"{name}*.jsonl"]
        assert dogwatch("run", "--detach", *flags, "--", "sh", "-c", script).returncode == 0
    assert "a.jsonl.tmp" in dogwatch("wait", "a", "--timeout", "30").stdout
    waited = dogwatch("wait", "b", "--timeout", "30")
    assert (waited.returncode, "incomplete" in waited.stdout) == (0, False), waited.stdout


def test_a_job_that_crashed_while_it_saved_is_told_from_where_to_resume(dogwatch, tmp_path) -> None:
    """Its newest checkpoint is cut; the one before it is whole, and is named with its iteration."""
    script = "mkdir step_10 step_20; echo {} > step_10/a.json; sleep 2; echo { > step_20/a.json; exit 3"
    assert ended(dogwatch, tmp_path, script, "--checkpoint", "step_*").returncode == 1
    shown = dogwatch("status", "job").stdout
    assert "the newest intact one is step_10" in shown
    assert "resume from  step_10 (iteration 10), intact" in shown
    saved = json.loads(dogwatch("status", "job", "--json").stdout)["jobs"][0]["checkpoints"]
    assert (saved["newest_verdict"], saved["intact_iteration"]) == ("damaged", 10)
    assert saved["interval_seconds"] is not None
    assert saved["next_at"] is None, "a job that has ended saves no more"
