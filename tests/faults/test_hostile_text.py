"""Text from jobs that tries to take over the terminal, the JSON or the memory of whoever looks at it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.scene import jobs, watcher
from tests.support import wait_until

OSC = "\x1b]52;c;cm0gLXJmIC8K\x07"
NASTY = (
    OSC,
    "\x1b]0;title\x1b\\",
    "\x1b[2J\x1b[1;1H",
    "\x9b31mred",
    "\x90dcs\x9c",
    "back\rfront",
    "\x08\x08\x7f",
    "left\u202eright\u2066x",
    "line\u2028sep",
    "zero\u200bwidth",
)
LINES = [*(text.encode() for text in NASTY), b"\x9b2J raw C1", b"\xff\xfe invalid \xc3", b"nul\0byte"]

# Prints one line of a mebibyte and every nasty line, then waits for its gate; it ignores its other arguments.
SCRIPT = """
import os, sys, time
gate, lines = sys.argv[1:3]
os.write(1, b"x" * (1 << 20) + b"\\n" + bytes.fromhex(lines))
os.write(1, b"error: \\x1b]52;c;AAAA\\x07 CUDA out of memory \\x1b[1A\\n\\x1b[31mStep 5/10\\x1b[0m\\n")
while not os.path.exists(gate):
    time.sleep(0.05)
print("Step 10/10", flush=True)
"""

# Everything that is not a printable character or the end of a line; the arrow and the dots of ours are printable.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@pytest.fixture
def nasty(dogwatch, spawn, home: Path, tmp_path: Path) -> Path:
    """A running job with a nasty log, nasty arguments, and outputs and checkpoints of nasty names; its gate."""
    gate = tmp_path / "gate"
    for number, name in enumerate(("out\x1b[2J.json", "out\nnew.json", "out\u202egnp.json", "out\r.json")):
        (tmp_path / name).write_text("1" * (number + 1))
        (tmp_path / name.replace("out", "ckpt")).write_text("1")
    lines = b"".join(line + b"\n" for line in LINES).hex()
    command = [sys.executable, "-c", SCRIPT, str(gate), lines, *NASTY]
    flags = ["--output", f"{tmp_path}/out*.json", "--checkpoint", f"{tmp_path}/ckpt*"]
    started = dogwatch("run", "--detach", "--name", "nasty", *flags, "--env", f"NASTY={OSC}", "--", *command)
    assert started.returncode == 0, started.stderr
    (log,) = home.glob("runs/*/worker-0.log")
    wait_until(lambda: log.read_bytes().endswith(b"Step 5/10\x1b[0m\n"))
    watcher(spawn, home)
    wait_until(lambda: len(jobs(dogwatch)["nasty"]["outputs"]) == 4)
    wait_until(lambda: (jobs(dogwatch)["nasty"]["progress"] or {}).get("step") == 5)
    return gate


def test_no_face_lets_control_characters_through(dogwatch, spawn, nasty: Path, tmp_path: Path) -> None:
    """What a job writes reaches a terminal only as printable text, in every verb, on stdout and on stderr."""
    verbs = (["ls", "--all"], ["status", "nasty"], ["logs", "nasty", "-n", "100"], ["events"], ["patrol"], ["doctor"])
    for verb in verbs:
        done = dogwatch(*verb)
        assert done.returncode == 0, done.stderr
        assert not FORBIDDEN.search(done.stdout), (verb, FORBIDDEN.search(done.stdout))
        assert not FORBIDDEN.search(done.stderr), verb
    assert "Step 5/10" in dogwatch("logs", "nasty", "-n", "100").stdout
    assert max(map(len, dogwatch("logs", "nasty").stdout.splitlines())) < 5000
    watching = spawn("watch", "nasty")
    wait_until(lambda: (tmp_path / "spawn-1.out").read_text())
    nasty.touch()
    assert watching.wait(timeout=20) == 0
    for path in tmp_path.glob("*.out"):
        assert not FORBIDDEN.search(path.read_text()), path
    for path in tmp_path.glob("*.err"):
        assert not FORBIDDEN.search(path.read_text()), path


def test_json_stays_json_and_keeps_every_character(dogwatch, nasty: Path, tmp_path: Path) -> None:
    """ASCII only, parseable by a strict reader, and lossless: the escapes are data there, not commands."""
    for verb in (["ls", "--all"], ["status", "nasty"], ["logs", "nasty", "-n", "100"], ["events"], ["patrol"]):
        done = dogwatch(*verb, "--json")
        assert done.stdout.isascii()
        assert not FORBIDDEN.search(done.stdout)
        json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    paths = [output["path"] for output in jobs(dogwatch)["nasty"]["outputs"]]
    assert f"{tmp_path}/out\x1b[2J.json" in paths
    assert f"{tmp_path}/out\nnew.json" in paths
    (log,) = json.loads(dogwatch("logs", "nasty", "-n", "100", "--json").stdout)["logs"]
    assert OSC in log["lines"]


def test_raw_gives_the_bytes(dogwatch, nasty: Path, environment: dict[str, str]) -> None:
    """Whoever asks for them by name gets just what the job wrote."""
    command = [sys.executable, "-m", "dogwatch", "logs", "nasty", "-n", "100", "--raw"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for line in LINES:
        assert line + b"\n" in done.stdout
    assert b"x" * (1 << 20) in done.stdout


def test_a_foreign_command_line_and_a_hostile_place_to_be_are_shown_plain(dogwatch, spawn, tmp_path: Path) -> None:
    """A process that somebody else started is named by its command line, which that somebody chose."""
    script = "import time; time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", script, "evil" + OSC, "two\nlines", "\u202eflip"]) as worker:
        try:
            added = dogwatch("add", "process", str(worker.pid))
            assert added.returncode == 0, added.stderr
            for verb in (["ls"], ["status"], ["events"], ["patrol"]):
                done = dogwatch(*verb)
                assert not FORBIDDEN.search(done.stdout + done.stderr), verb
        finally:
            worker.kill()
