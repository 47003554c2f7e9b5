"""`dogwatch completion`: what the real shells offer."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.transport.conftest import sshd

__all__ = ["sshd"]

OFFERED = [
    ("st", {"status"}),
    ("alerts a", {"ack", "add"}),
    ("alerts add --lev", {"--levels"}),
    ("wait train --for r", {"running"}),
    ("completion ", {"bash", "fish", "zsh"}),
    ("ls --al", {"--all"}),
    ("status em", {"embed"}),
    ("logs embed --fol", {"--follow"}),
    ("host test gpu", {"gpubox"}),
    ("check --host gpu", {"gpubox"}),
    ("service st", {"status"}),
]


@pytest.fixture
def shell_environment(dogwatch, home, sshd, tmp_path: Path) -> dict[str, str]:
    """A program called dogwatch on the path, with two jobs and a host in its store."""
    for name in ("embed", "train one"):
        dogwatch("run", "--detach", "--name", name, "--", "true")
    sshd.start()
    assert dogwatch("host", "add", "gpubox", "--ssh", "box", "--ssh-config", sshd.config).returncode == 0
    bin_ = tmp_path / "programs"
    bin_.mkdir()
    program = bin_ / "dogwatch"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dogwatch "$@"\n')
    program.chmod(0o755)
    kept = {"PATH": f"{bin_}:{os.environ['PATH']}", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    return {**kept, "DOGWATCH_HOME": str(home)}


@pytest.fixture
def script(dogwatch, tmp_path: Path):
    def write(shell: str) -> Path:
        path = tmp_path / f"completion.{shell}"
        path.write_text(dogwatch("completion", shell).stdout)
        return path

    return write


def test_bash_offers_what_can_be_typed(shell_environment, script) -> None:
    """Verbs, verbs of verbs, options, choices, and names from the store with what needs quoting quoted."""
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dogwatch; printf "%s\\n" "${COMPREPLY[@]}"'

    def offered(line: str) -> set[str]:
        words = ["bash", "--norc", "-c", ask, "_", str(path), "dogwatch", *line.split(" ")]
        done = subprocess.run(words, env=shell_environment, capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        return set(done.stdout.split("\n")) - {""}

    path = script("bash")
    assert [(line, offered(line)) for line, _ in OFFERED] == OFFERED
    assert offered("status tr") == {r"train\ one"}


@pytest.mark.needs_tool("fish")
def test_fish_offers_what_can_be_typed(shell_environment, script) -> None:
    """The same, each with what it means behind a tab."""
    path = script("fish")
    lines = [*(line for line, _ in OFFERED), "status tr"]
    ask = f"source {path};" + ";".join(f"echo '== {line}'; complete -C 'dogwatch {line}'" for line in lines)
    done = subprocess.run(
        ["fish", "--no-config", "-c", ask], env=shell_environment, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    parts = [part.partition("\n") for part in done.stdout.split("== ")[1:]]
    found = [(line, {row.split("\t")[0] for row in rows.splitlines()}) for line, _, rows in parts]
    assert found == [*OFFERED, ("status tr", {"train one"})]
    assert "status\tShow everything known about one job" in done.stdout


@pytest.mark.needs_tool("zsh")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("dogwatch stat\t", "dogwatch status "),
        ("dogwatch alerts sil\t", "dogwatch alerts silence "),
        ("dogwatch status emb\t", "dogwatch status embed "),
        ("dogwatch wait x --for run\t", "dogwatch wait x --for running "),
        ("dogwatch ls --al\t", "dogwatch ls --all "),
        ("dogwatch check --host gpu\t", "dogwatch check --host gpubox "),
    ],
)
def test_zsh_completes_what_is_typed(shell_environment, script, typed: str, completed: str) -> None:
    """In a real zsh on a terminal: TAB is pressed, and the line is read from its editor."""
    path = script("zsh")
    folder = path.parent / "functions"
    folder.mkdir()
    shutil.copy(path, folder / "_dogwatch")
    setup = f"PS1='> '; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt prompt_sp\n"
    setup += "show() { print -r -- \"LINE[$BUFFER]\"; BUFFER=; zle accept-line }; zle -N show; bindkey '^X' show\n"
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], shell_environment)
    try:
        os.write(terminal, setup.encode() + b"echo rea''dy\n")
        assert "ready" in read_until(terminal, "ready\r\n")
        os.write(terminal, typed.encode())
        read_until(terminal, completed.rstrip()[-4:], 15)
        time.sleep(0.3)
        os.write(terminal, b"\x18")
        assert f"LINE[{completed}]" in read_until(terminal, "]\r\n")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def read_until(terminal: int, mark: str, seconds: float = 30.0) -> str:
    """What the terminal shows until the mark is in it."""
    shown, until = "", time.monotonic() + seconds
    while mark not in shown and time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


def test_names_are_read_and_nothing_else_happens(dogwatch, tmp_path: Path) -> None:
    """Without a store, with one that is damaged, or for a word that is not known: silence and exit code 0."""
    missing = {"DOGWATCH_HOME": str(tmp_path / "none")}
    assert _answer(dogwatch("__names", "jobs", env=missing)) == (0, "", "")
    assert not (tmp_path / "none").exists()
    damaged = tmp_path / "damaged"
    damaged.mkdir(mode=0o700)
    (damaged / "dogwatch.db").write_bytes(b"no database" * 1000)
    assert _answer(dogwatch("__names", "jobs", env={"DOGWATCH_HOME": str(damaged)})) == (0, "", "")


def test_names_need_no_parser(dogwatch) -> None:
    """A key is pressed and somebody waits: as little is loaded as for `ls`."""
    code = "import sys; from dogwatch.cli.main import main; main(['__names', 'jobs']); print('argparse' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1:] == ["False"]


def _answer(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr
