"""What people have running when they come to Dogwatch: workers that a shell started, and mail that reaches them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WORKER = Path(__file__).with_name("worker.py")
# What every worker of a test finds done before its own lines.
HEAD = """
import os, sys, time
me, output, log = int(sys.argv[2]), sys.argv[4], sys.argv[6]
def say(words):
    with open(log, "a") as file:
        print(words, file=file)
"""
LAUNCH = """
for i in $(seq 0 $((N - 1))); do
    python "$SCRIPT" --worker-id $i --output-file "$(printf "$OUTPUT" $i)" --log-file "$LOGS/worker_$i.log" \
        > "$LOGS/worker_${i}_stdout.log" 2> "$LOGS/worker_${i}_stderr.log" &
done
wait
"""


class Crew:
    """Workers of one job, all of one shell that reaps them: nobody else learns how they ended."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self.place, self.environment = place, environment
        self.outputs, self.logs = place / "outputs", place / "logs"
        self.shell: subprocess.Popen[bytes] | None = None

    def start(
        self, script: str, workers: int, output: str = "output_worker_%d.json", text: str = "", **more: str
    ) -> None:
        """worker.py under another name, or `text`; `more` is what it knows: ITEMS, STEPS, PAUSE, who CRASHes."""
        for directory in (self.outputs, self.logs):
            directory.mkdir(parents=True, exist_ok=True)
        (self.place / script).write_text(HEAD + text if text else WORKER.read_text())
        told = {"N": str(workers), "SCRIPT": script, "OUTPUT": str(self.outputs / output), "LOGS": str(self.logs)}
        self.shell = subprocess.Popen(
            ["bash", "-c", LAUNCH],
            cwd=self.place,
            env={**self.environment, **told, **more},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )

    def end(self) -> None:
        if self.shell is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.shell.pid, signal.SIGKILL)
            self.shell.wait(timeout=20)

    def flags(self) -> list[object]:
        return ["--output-dir", self.outputs, "--log-dir", self.logs]


@pytest.fixture
def crew(environment: dict[str, str], tmp_path: Path) -> Iterator[Crew]:
    """Workers in a directory of their own, killed when the test is over."""
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:{environment['PATH']}"
    made = Crew(tmp_path / "job", environment)
    made.place.mkdir()
    yield made
    made.end()


@pytest.fixture
def letters(environment: dict[str, str], box: Any, tmp_path: Path) -> Callable[[], list[str]]:
    """Mail of Dogwatch goes to the box; what came, each letter as its subject and its text."""
    settings = tmp_path / "config" / "dogwatch" / "config.toml"
    settings.parent.mkdir(parents=True)
    kept, server = box
    where = f'host = "{server.host}"\nport = {server.port}\nfrom = "{server.sender}"\ntls = "none"\n'
    settings.write_text(f"[smtp]\n{where}")
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    return lambda: [f"{mail['subject']}\n{mail.get_body().get_content()}" for mail in kept.mails]
