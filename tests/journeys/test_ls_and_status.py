"""`dogwatch ls` and `dogwatch status` as people and agents use them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

STEPS = """
import sys, time
for step in range(1, 1001):
    print(f"step {step}/1000", flush=True)
    time.sleep(0.01 if step < 50 else 600)
"""


def start(dogwatch, name: str, *command: str) -> str:
    """A job that runs in the background; its ref."""
    done = dogwatch("run", "--detach", "--name", name, "--", *command)
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


def on_a_terminal(environment: dict[str, str], columns: int, *words: str) -> list[str]:
    """The lines that the real program prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    shell = f"stty cols {columns} rows 50; exec {sys.executable} -m dogwatch {' '.join(words)} 2>/dev/null"
    shown = b""
    with subprocess.Popen(["sh", "-c", shell], env=environment, stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal's way to say that the program has ended
                break
            shown += part
        assert process.wait(timeout=30) == 0
    os.close(ours)
    return shown.decode().replace("\r", "").splitlines()


def test_the_list_shows_what_people_need_in_columns(dogwatch):
    """Name, state, where, elapsed, progress, ETA, alert and ref; how old it is stands once, on stderr."""
    ref = start(dogwatch, "train", sys.executable, "-c", STEPS)
    dogwatch("wait", "train", "--for", "running", "--timeout", "20")
    done = dogwatch("ls")
    head, line = done.stdout.splitlines()
    assert head.split() == ["NAME", "STATE", "WHERE", "ELAPSED/LIMIT", "PROGRESS", "ETA", "ALERT", "REF"]
    assert line.split()[:3] == ["train", "running", "here"]
    assert line.endswith(ref)
    assert "last confirmed" in done.stderr


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_of_the_list_wraps(dogwatch, environment, columns):
    """Whatever the width and the names: letters of two columns take two; and at 40 columns progress is still there."""
    start(dogwatch, "train", "sleep", "600")
    start(dogwatch, "訓練🚀" * 8, "sleep", "600")
    start(dogwatch, "a-name-that-is-much-longer-than-any-terminal-of-forty-columns", "sleep", "600")
    head, *lines = on_a_terminal(environment, columns, "ls")
    assert len(lines) == 3
    assert {"NAME", "STATE", "PROGRESS"} <= set(head.split())
    for line in lines:
        assert sum(2 if ord(letter) > 0x2E80 else 1 for letter in line) <= columns


def test_agents_get_a_brief_list(dogwatch):
    """`ls --json --brief` costs at most 80 bytes a job, about 20 tokens."""
    for number in range(3):
        start(dogwatch, f"llama-7b-sft-seed{number}", "sleep", "600")
    done = dogwatch("ls", "--json", "--brief")
    told = json.loads(done.stdout)
    assert told["columns"] == ["name", "state", "progress_percent", "eta_seconds", "alert"]
    assert sorted(row[0] for row in told["jobs"]) == [f"llama-7b-sft-seed{number}" for number in range(3)]
    assert len(done.stdout) <= 100 + 3 * 80


def test_a_name_used_twice_means_the_newest_that_has_not_ended(dogwatch):
    """And it is said, in one line; when all have ended it means the newest of them."""
    start(dogwatch, "train", "sleep", "600")
    running = start(dogwatch, "train", "sleep", "600")
    ended = start(dogwatch, "train", "true")
    assert dogwatch("wait", ended, "--timeout", "20").returncode == 0
    done = dogwatch("status", "train")
    assert done.stdout.startswith(f"train ({running})")
    assert f"train: 3 jobs have this name; showing the newest, {running}" in done.stderr
    for verb in ("logs", "why", "events", "report"):
        assert f"showing the newest, {running}" in dogwatch(verb, "train").stderr, verb
    listed = dogwatch("ls").stdout
    assert running.partition(":")[2] in listed  # two of one name are told apart by their ids


def test_forgetting_never_guesses_which_of_two(dogwatch):
    """`forget` of a name that two jobs have forgets none of them."""
    refs = [start(dogwatch, "train", "sleep", "600") for _ in range(2)]
    done = dogwatch("forget", "train")
    assert done.returncode == 4
    assert all(ref in done.stderr for ref in refs)
    assert len(json.loads(dogwatch("ls", "--json").stdout)["jobs"]) == 2
