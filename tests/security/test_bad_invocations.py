"""Whatever words it is given, the program answers with one short sentence and an exit code that it documents."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

LONG, DIGITS, EVIL, NOT_TEXT = "x" * 100_000, "9" * 5000, "\x1b]52;c;aGk=\x07\u202e", "\udcff\udcfe"
# Each invocation runs in a fork of one process that has imported the program: its own exit, its own streams.
DRIVER = """
import json, os, pkgutil, signal, sys, tempfile
import dogwatch.api, dogwatch.cli
from dogwatch.cli.main import main
for package in (dogwatch.api, dogwatch.cli):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        __import__(module.name)
import dogwatch.assemble, dogwatch.store.sqlite.database, argparse, ruamel.yaml, difflib
for words in json.load(sys.stdin):
    out = tempfile.TemporaryFile()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        try:
            code = main(words)
        except BaseException:
            import traceback
            traceback.print_exc()
            code = 99
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    out.seek(0)
    print(json.dumps([status, out.read().decode("utf-8", "surrogateescape")]), flush=True)
"""
ANYWHERE = (
    *(("",), (EVIL,), (NOT_TEXT,), (LONG,), ("--nope",), ("-x",), ("lss",), ("help", EVIL)),
    *(("add",), ("add", "nope"), ("add", "process"), ("run",), ("run", "--"), ("run", "--", "")),
    *(("host",), ("host", "nope"), ("alerts", "nope"), ("service", "nope"), ("ls", "--json=1"), ("ls", "x")),
    *(("sync", "/nonexistent"), ("demo", "x"), ("doctor", "x"), ("daemon", "--nope"), ("report", "--html", "x")),
)
NUMBERS = ("", "-1", "0", "nan", "inf", "1e309", "1.5", "²", DIGITS, str(1 << 63), EVIL, NOT_TEXT, "--x")
TAKES_A_NUMBER = (
    ("add", "process", "{}"),
    ("watch", "--pid", "{}"),
    ("watch", "--pid", "1", "--total-items", "{}"),
    ("watch", "--pid", "1", "--num-workers", "{}"),
    ("run", "--workers", "{}", "--", "true"),
    ("wait", "nope", "--timeout", "{}"),
    ("host", "add", "x", "--floor", "{}"),
    ("service", "on", "--every", "{}"),
    ("preflight", "--workers", "{}", "--", "true"),
    ("preflight", "--most", "{}", "--", "true"),
)
NAMES = ("", " ", "a\nb", EVIL, NOT_TEXT, LONG, "-x")
TAKES_A_NAME = (
    ("add", "process", "1", "--name", "{}"),
    ("run", "--name", "{}", "--", "true"),
    ("watch", "--pid", "1", "--job-name", "{}"),
    ("host", "add", "{}"),
    ("host", "test", "{}"),
    ("add", "slurm", "{}"),
    ("add", "slurm", "1", "--host", "{}"),
    ("forget", "{}"),
    ("status", "{}"),
    ("logs", "{}"),
    ("why", "{}"),
    ("wait", "{}"),
    ("report", "{}"),
    ("alerts", "rm", "{}"),
    ("alerts", "add", "slack", "{}"),
    ("alerts", "add", "email", "{}"),
)
PLACES = ("", "fifo", "socket", "loop", "folder", "/dev/zero", "/nonexistent/x", LONG)
TAKES_A_FILE = (
    ("watch", "--config", "{}", "--pid", "1"),
    ("preflight", "{}"),
    ("read", "{}"),
    ("backtest", "{}"),
    ("patrol", "--log-file", "{}"),
)
ALSO = (
    ("events", "--since", DIGITS),
    ("events", "--since", str(1 << 64)),
    ("alerts", "add", "webhook", "http://[::1"),
    ("alerts", "add", "webhook", "http://example.org:99999/"),
    ("alerts", "add", "webhook", "ftp://example.org/"),
    ("alerts", "add", "file", ""),
    ("alerts", "add", "email", "a@example.org\nBcc: b@example.org"),
    ("add", "process", "1", "--log", ""),
    ("add", "process", "1", "--log", "/tmp/" + LONG),
    ("add", "process", "1", "--output", "/tmp/" + LONG),
    ("add", "process", "99999999999"),
    ("host", "add", "-oProxyCommand=touch /tmp/x"),
    ("run", "--env", "=x", "--", "true"),
    ("run", "--env", "NO", "--", "true"),
    ("run", "--", "/nonexistent"),
)


def filled(shapes: tuple[tuple[str, ...], ...], values: tuple[str, ...]) -> list[list[str]]:
    return [[word.format(value) for word in shape] for shape in shapes for value in values]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "words",
    [
        pytest.param([list(one) for one in (*ANYWHERE, *ALSO)], id="verbs and values"),
        pytest.param(filled(TAKES_A_NUMBER, NUMBERS), id="numbers"),
        pytest.param(filled(TAKES_A_NAME, NAMES), id="names"),
        pytest.param(filled(TAKES_A_FILE, PLACES), id="files"),
    ],
)
def test_a_bad_invocation_gets_one_sentence(
    environment: dict[str, str], tmp_path: Path, words: list[list[str]]
) -> None:
    """No traceback, no hang, no second line, nothing that a terminal obeys, and never the exit code of success."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    argv = [sys.executable, "-c", DRIVER]
    done = subprocess.run(
        argv, input=json.dumps(words), env=environment, cwd=tmp_path, text=True, stdout=subprocess.PIPE, timeout=500
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(words)
    pairs = zip(words, answers, strict=True)
    bad = [
        ([word[:60] for word in given], code, said[-400:]) for given, (code, said) in pairs if wrong(given, code, said)
    ]
    assert bad == []


def wrong(given: list[str], code: int, said: str) -> bool:
    """Whether this is no good answer; only `backtest` says a line for each file that it leaves out."""
    harmless = len(said) < 4000 and all(char.isprintable() or char == "\n" for char in said)
    return code not in (2, 3, 4) or not harmless or said.count("\n") > (2 if given[0] == "backtest" else 1)
