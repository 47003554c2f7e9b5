"""DOGWATCH_PROGRESS: what a program says of itself, by the snippet that the documents print."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.logs.reader import Reader
from dogwatch.model import Step
from tests.support import wait_until

DOCUMENT = Path(__file__).parent.parent / "docs" / "progress.md"


def snippet() -> str:
    """The Python of the page, word for word."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return str(code)


def test_the_snippet_is_short_and_needs_nothing() -> None:
    """Twenty lines or so of code, from the standard library only."""
    code = [line for line in snippet().splitlines() if line.strip()]
    assert len(code) <= 22
    assert re.findall(r"^import (\w+)", snippet(), re.MULTILINE) == ["json", "os", "time"]


def test_the_snippet_writes_what_the_reader_reads(tmp_path: Path) -> None:
    """The page's own code, run as a program, leaves a file from which its step, total and loss are read."""
    file = tmp_path / "progress"
    program = f"{snippet()}\nreport(3, 9, loss=0.5)\nreport(4, 9, loss=0.4)\nreport(9, 9, loss=0.3)\n"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "DOGWATCH_PROGRESS": str(file)})
    reading = Reader().feed(file.read_bytes())
    assert reading.step is not None
    assert (reading.step.done, reading.step.total) == (9, 9)
    assert reading.metrics["loss"] == 0.3
    assert file.read_bytes().count(b"\n") == 2, "within a second only the last step is told again"


def test_the_snippet_is_silent_where_nobody_asked() -> None:
    """Without the variable nothing is written and nothing fails."""
    env = {key: value for key, value in os.environ.items() if key != "DOGWATCH_PROGRESS"}
    program = f"{snippet()}\nreport(3, 9)\n"
    assert subprocess.run([sys.executable, "-c", program], check=True, env=env, capture_output=True).stdout == b""


def test_the_lines_of_the_page_mean_what_it_says() -> None:
    """Its example of two lines is read as its table explains."""
    (lines,) = re.findall(r"```\n(\{.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    reading = Reader().feed(lines.encode())
    assert reading.step == Step(301, 1000, "steps", None, 40)
    assert reading.phase == "validating"
    assert reading.metrics == {"loss": 0.40}


@pytest.mark.parametrize("unit", ["tiles", "documents"])
def test_a_program_names_its_own_unit(unit: str) -> None:
    """What is counted is called as the program calls it."""
    step = Reader().feed(json.dumps({"step": 3, "total": 9, "unit": unit}).encode() + b"\n").step
    assert step is not None
    assert step.unit == unit


def test_what_a_worker_says_exactly_is_believed_over_its_log(dogwatch) -> None:
    """Two workers whose logs count something else: the job's progress is the sum of what they said themselves."""
    script = (
        'echo "Processed 1/1 files"; echo \'{"step": 30, "total": 200, "loss": 0.5}\' >> "$DOGWATCH_PROGRESS"; sleep 60'
    )
    assert dogwatch("run", "--detach", "--name", "exact", "--workers", "2", "--", "sh", "-c", script).returncode == 0

    def progress() -> dict[str, object]:
        dogwatch("patrol")
        (job,) = json.loads(dogwatch("ls", "--json").stdout)["jobs"]
        return job["progress"] or {}

    wait_until(lambda: progress().get("total") == 400)
    told = progress()
    assert (told["step"], told["total"], told["unit"]) == (60, 400, "steps")


def test_nobody_else_may_name_the_file(dogwatch) -> None:
    """Like the worker's number, it is Dogwatch's to set."""
    refused = dogwatch("run", "--env", "DOGWATCH_PROGRESS=/tmp/x", "--", "true")
    assert refused.returncode != 0
    assert "set by Dogwatch" in refused.stderr
