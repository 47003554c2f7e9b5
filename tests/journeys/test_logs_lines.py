"""`dogwatch logs` prints as many lines as were asked for, also of a log that a progress bar wrote."""

from __future__ import annotations

import json
import sys

BAR = """
import sys
for epoch in range(8):
    for step in range(1, 67):
        sys.stdout.write(f"\\repoch {epoch}: {step * 100 // 66:3d}%|####      | {step}/66 [00:01<00:00, 44.1it/s]")
    sys.stdout.write("\\n")
sys.stdout.write("\\rsaving:  50%|##   | 1/2")
"""


def train(dogwatch) -> None:
    """A job whose log is made of progress bars, 66 updates each, the last of them not ended."""
    done = dogwatch("run", "--detach", "--name", "bars", "--", sys.executable, "-c", BAR)
    assert done.returncode == 0, done.stderr
    assert dogwatch("wait", "bars", "--timeout", "30").returncode == 0


def test_five_lines_of_a_progress_bar_are_five_lines(dogwatch):
    """`logs -n 5` of a tqdm log prints five lines, each with its last update only."""
    train(dogwatch)
    done = dogwatch("logs", "bars", "-n", "5")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 4", "epoch 5", "epoch 6", "epoch 7", "saving"]
    assert all("100%" in line and "66/66" in line for line in lines[:4])


def test_the_json_has_the_same_lines(dogwatch):
    """`logs --json` counts lines as the screen does; --raw prints every byte."""
    train(dogwatch)
    (log,) = json.loads(dogwatch("logs", "bars", "-n", "2", "--json").stdout)["logs"]
    assert len(log["lines"]) == 2
    assert log["lines"][0].startswith("epoch 7: 100%")
    assert dogwatch("logs", "bars", "-n", "2", "--raw").stdout.count("epoch 7") == 66
