"""The storm itself, short enough for every test run; `make chaos` is the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLS = 200
TIMEOUT = 280


def test_two_hundred_kills_lose_nothing_and_leave_nothing_wrong(tmp_path: Path):
    """Watchers, commands and supervisors are killed at random moments under load, and the history is whole."""
    # A process of its own, because it adopts every orphan, which pytest should not.
    words = ["--kills", str(KILLS), "--seed", "20"]
    storm = subprocess.Popen(
        [sys.executable, "-m", "tests.chaos", *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        told, _ = storm.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        storm.terminate()
        told, _ = storm.communicate(timeout=20)
    print(told)
    assert storm.returncode == 0, told
    assert int(told.split()[0]) >= KILLS
