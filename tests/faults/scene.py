"""What the tests of faults share: jobs that end when told, a watcher that is up, and what the interfaces say."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support import FULL_DISK, wait_until
from tests.support import jobs as jobs


def events(dogwatch, *kinds: str) -> list[dict]:
    """The whole history, or those of some kinds; but for the disk of the machine that runs the tests."""
    found = json.loads(dogwatch("events", "--since", "0", "--json").stdout)["events"]
    assert [event["seq"] for event in found] == sorted({event["seq"] for event in found})
    found = [event for event in found if event["body"].get("rule") != FULL_DISK]
    return [event for event in found if not kinds or event["kind"] in kinds]


def states(dogwatch, name: str) -> list[str]:
    """The states a job went through, by its events; an ending with its outcome."""
    ref = jobs(dogwatch)[name]["ref"]
    changes = [event["body"] for event in events(dogwatch, "job.state") if event["ref"] == ref]
    return [body.get("outcome") or body["after"] for body in changes]


def gated(dogwatch, gate: Path, code: int, name: str | None = None) -> str:
    """Start a job that exits with `code` once `gate` is there; it writes nothing. Returns its ref."""
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done; exit {code}"
    done = dogwatch("run", "--detach", "--name", name or gate.name, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def watcher(spawn, home: Path, *flags: str, **more) -> tuple[subprocess.Popen[str], Callable[[], str]]:
    """A daemon that is up, and a way to read what it has said on stderr."""
    path = home.parent / f"daemon-{len(list(home.parent.glob('daemon-*')))}.err"
    with path.open("w") as stream:
        process = spawn("daemon", "--interval", "1", *flags, stderr=stream, **more)
    wait_until(lambda: "watching; " in path.read_text() or process.poll() is not None)
    assert process.poll() is None, path.read_text()
    return process, path.read_text


def refused(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one sentence of a verb that could not do what it was asked to; no data, no traceback."""
    assert done.returncode == code, done
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("dogwatch: ")
    return sentence


def run_directories(home: Path) -> list[Path]:
    """The runs of a home, oldest first."""
    return sorted((home / "runs").glob("*"), key=lambda path: path.stat().st_mtime)


def children(pid: int) -> list[int]:
    """The processes whose parent is `pid`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs, and is not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def negatives(document: object, path: str = "") -> list[str]:
    """Where a duration below zero hides in a document."""
    if isinstance(document, dict):
        return [found for key, value in document.items() for found in negatives(value, f"{path}.{key}")]
    if isinstance(document, list):
        return [found for index, value in enumerate(document) for found in negatives(value, f"{path}[{index}]")]
    timed = re.search(r"(seconds|rate\w*|percent)$", path)
    return [f"{path} = {document}"] if timed and isinstance(document, (int, float)) and document < 0 else []
