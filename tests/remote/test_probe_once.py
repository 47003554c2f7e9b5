"""The probe as it travels: one text that answers once, ends by its own clock, and does nothing when it is cut short."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dogwatch.cli.verbs import VERBS
from dogwatch.remote import MARK, probe_once, probe_text
from dogwatch.remote.probe import matching
from tests.support import wait_until

PYTHON = [sys.executable, "-I", "-S", "-"]
SLOW = "#!/bin/sh\ntrap '' TERM HUP ALRM\nsleep 600 &\necho $$ $! >{note}\nwait\n"


def request(**sections: Any) -> bytes:
    return json.dumps({"nonce": "a1", "deadline": 60.0, **sections}).encode("ascii")


def run(program: bytes, argv: list[str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv or PYTHON, input=program, capture_output=True, start_new_session=True, timeout=60)


def hanging(tmp_path: Path) -> tuple[bytes, Path]:
    """A request on which the scheduler hangs, and where it notes its pids."""
    note = tmp_path / "note"
    (tmp_path / "squeue").write_text(SLOW.format(note=note))
    (tmp_path / "squeue").chmod(0o755)
    commands = {"list": {"argv": ["squeue", "-h"], "path": [str(tmp_path)]}}
    return request(commands=commands, disks=["/"]), note


def test_the_text_answers_the_request_that_came_with_it() -> None:
    """One line, its sentinel, and nothing else."""
    done = run(probe_once(request(disks=["/"]), 30.0))
    assert (done.returncode, done.stderr) == (0, b"")
    reply, sentinel = done.stdout.splitlines()
    assert json.loads(reply)["disks"]["ok"] is True
    assert sentinel == b"DOGWATCH-END a1 %d" % len(reply)


@pytest.mark.parametrize("nasty", ["'\"\\", "\n\r\0", "é\u2028\ud800", "'''\n\"\"\"", "\\N{x}\\x41%s{0}"])
def test_a_request_is_data_in_the_text(nasty: str) -> None:
    """Whatever it holds, it is a literal."""
    done = run(probe_once(request(files={nasty: {"outputs": ["/none" + nasty]}}), 30.0))
    assert nasty in json.loads(done.stdout.splitlines()[0])["files"]


def test_a_text_that_is_cut_short_does_nothing() -> None:
    """Wherever the link broke, no half of the program runs."""
    program = probe_once(request(disks=["/"]), 30.0)
    start = program.index(b"\nimport base64")
    cuts = [0, 1, start // 2, start, start + 10, start + 30, len(program) // 2, len(program) - 6, len(program) - 3]
    for cut in cuts:
        assert run(program[:cut]).stdout == b"", cut


def test_its_own_clock_ends_it_and_all_that_it_started(tmp_path: Path) -> None:
    """Nobody kills it from outside: the command that ignores signals goes, its child, the reader and the probe."""
    line, note = hanging(tmp_path)
    done = run(probe_once(line, 1.5))
    assert (done.returncode, done.stdout) == (-9, b"")
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in note.read_text().split()))


def test_its_clock_does_not_end_the_shell_that_started_it(tmp_path: Path) -> None:
    """A login shell that did not become the probe lives on to the end of its own words."""
    line, _ = hanging(tmp_path)
    done = run(probe_once(line, 1.5), ["sh", "-c", '"$@"; echo "and then"', "sh", *PYTHON])
    assert done.stdout == b"and then\n"


def test_it_gives_way_to_others() -> None:
    """Nicer than the shell that started it."""
    code = b"import os\nnicer = os.nice(0)\n" + probe_once(request(), 30.0).replace(
        b"exec(zlib", b"import atexit\natexit.register(lambda: print(os.nice(0) - nicer))\nexec(zlib"
    )
    assert run(code).stdout.splitlines()[-1] == b"5"


def test_a_probe_is_known_by_its_mark() -> None:
    """The mark that reach puts into a command line is the one that a probe looks for."""
    assert MARK == matching.MARK
    assert matching.is_dogwatch(["python3", "-I", "-S", "/dev/fd/5", "--serve", MARK])
    assert matching.is_dogwatch(["bash", "-c", f"exec python3 -I -S -c 'import signal' {MARK}"])
    assert not matching.is_dogwatch(["python3", "train.py", "--out", "/x/dogwatch-probe-results"])


def test_every_verb_is_known_as_ours() -> None:
    """Whoever asks about a job by its name is not taken for one of its workers, whatever they ask."""
    for verb in VERBS:
        assert matching.is_dogwatch(["bash", "-c", f"cd runs && . ./env.sh && /opt/venv/bin/dogwatch {verb} train"]), (
            verb
        )


def test_the_text_is_the_same_every_time() -> None:
    """Joined once and kept."""
    assert probe_text() is probe_text()
    assert b"from dogwatch" not in probe_text()
    assert b"import dogwatch" not in probe_text()
