"""The first minute after installing it: a typo, the help, a first job, completion, the manual."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_a_newcomer_finds_the_way(dogwatch):
    """Each answer names the next thing to type, and that works: from nothing to a job that is watched."""
    first = dogwatch()
    assert first.returncode == 0
    assert "dogwatch run -- python train.py" in first.stdout
    assert "`dogwatch COMMAND --help`" in first.stdout
    empty = dogwatch("ls")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "dogwatch ls --all" in empty.stderr
    assert "start one: dogwatch run -- PROGRAM" in dogwatch("ls", "--all").stderr

    typo = dogwatch("rnu", "--", "true")
    assert (typo.returncode, typo.stdout) == (2, "")
    assert "did you mean `dogwatch run`?" in typo.stderr
    forgotten = dogwatch("run", "true")
    assert forgotten.returncode == 2
    assert "as in `dogwatch run -- true`" in forgotten.stderr

    page = dogwatch("help", "run").stdout
    assert page.index("Examples:") < page.index("Options:")
    done = dogwatch("run", "--name", "first", "--", sys.executable, "-c", "print('hello')")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code 0" in done.stdout
    assert "hello" in dogwatch("logs", "first").stdout
    missed = dogwatch("status", "fisrt")
    assert missed.returncode == 4
    assert "did you mean 'first'?" in missed.stderr


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.needs_tool("tmux")
def test_the_first_page_fits_the_terminal(environment, tmp_path, width: int):
    """At 60 columns nothing is cut, at 120 no line is longer than 80."""
    socket, done = str(tmp_path / "tmux"), tmp_path / "done"
    command = f"{sys.executable} -m dogwatch; {sys.executable} -m dogwatch run --help; touch {done}; sleep 600"
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    start = [*tmux, "new-session", "-d", "-x", str(width), "-y", "180", command]
    subprocess.run(start, env={**environment, "LC_ALL": "C.UTF-8"}, check=True, timeout=60)
    try:
        from tests.support import wait_until

        wait_until(done.exists, timeout=60)
        shown = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= min(width, 80)
    assert "  dogwatch run -- python train.py" in shown
    assert sum(line.startswith(("  run ", "  alerts ", "  doctor ")) for line in lines) == 3
    assert "Exit codes:" in shown


@pytest.mark.needs_tool("fish")
def test_a_word_is_completed_and_the_manual_opens(dogwatch, environment, tmp_path):
    """What `completion` prints is taken by the shell, and `man` finds the page beside the program."""
    programs = tmp_path / "prefix" / "bin"
    programs.mkdir(parents=True)
    program = programs / "dogwatch"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dogwatch "$@"\n')
    program.chmod(0o755)
    env = {**environment, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    ask = "dogwatch completion fish | source; complete -C 'dogwatch prefl'"
    shown = subprocess.run(["fish", "--no-config", "-c", ask], env=env, capture_output=True, text=True, timeout=60)
    assert shown.stdout == "preflight\tCheck a machine before a job starts\n"
    pages = tmp_path / "prefix" / "share" / "man" / "man1"
    pages.mkdir(parents=True)
    (pages / "dogwatch.1").write_text((ROOT / "docs" / "man" / "dogwatch.1").read_text())
    manual = subprocess.run(
        ["man", "-P", "cat", "dogwatch"], env={**env, "MANPATH": ""}, capture_output=True, text=True, timeout=60
    )
    assert manual.returncode == 0, manual.stderr
    assert "dogwatch - watch long GPU jobs" in manual.stdout
