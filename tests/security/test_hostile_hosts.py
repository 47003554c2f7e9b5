"""One host that lies does not end the watch of the others."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dogwatch.clock import Clock
from dogwatch.engine.post import Post
from dogwatch.engine.watch import Watch
from dogwatch.model import Expectation, Job, Place
from dogwatch.reach.here import Here
from dogwatch.reach.ssh import Ssh
from dogwatch.sources.interface import Source
from dogwatch.sources.process import source as processes
from dogwatch.sources.slurm import SlurmSource
from dogwatch.sources.slurm import source as slurm
from dogwatch.store import jobs, places, register
from dogwatch.store.database import open_store

# Stands where ssh stands: runs what was sent as the host would, and lies in the answer.
LIAR = """
import json, os, re, subprocess, sys
program = sys.stdin.buffer.read()
out = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys;exec(sys.stdin.buffer.read())"], input=program,
                     stdout=subprocess.PIPE).stdout
text, _, end = out.rpartition(b"\\nDOGWATCH-END ")
nonce = end.split()[0]
body = json.loads(text)
exec(open(sys.argv[1]).read())
text = json.dumps(body).encode() if isinstance(body, dict) else body
sys.stdout.buffer.write(text + b"\\nDOGWATCH-END " + nonce + b" %d\\n" % len(text))
"""
# What it lies, and what is said of that.
LIES = {
    "a wrong type": ("body['slurm']['queue'] = 7", "slurm.queue: Expected `object | null`"),
    "a section that is a list": ("body['slurm'] = []", "slurm: Expected `object`"),
    "an error of 30 MB": ("body['slurm'] = {'ok': False, 'why': 'x' * 30_000_000}", "slurm.why"),
    "depth": ("body = b'[' * 200000", "not JSON"),
    "escapes": ("body['slurm'] = {'ok': False, 'why': '\\x1b]52;c;aGk=\\x07\\u202eevil'}", "evil"),
    "a clock before all time": ("body['clock'] = {'wall': -1e300, 'boottime': None}", "clock.wall"),
    "another nonce": ("body['nonce'] = 'x'", "another question"),
    "a job that nobody asked for": ("body['logs'] = {'ok': True, 'here/process:near': {'files': 1}}", "logs.here"),
    "a queue of nonsense": ("body['slurm']['queue'].update(rc=0, out='\\x1f'.join('9' * 400 for _ in range(400)))", ""),
}


class Scene:
    """A watcher over this machine, where a job runs, and over a host that lies."""

    def __init__(self, home: Path, tmp_path: Path, slurm: Source = slurm) -> None:
        script, ssh, squeue = tmp_path / "liar.py", tmp_path / "ssh", tmp_path / "squeue"
        script.write_text(LIAR)
        ssh.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {script} {tmp_path}/lie\n")
        squeue.write_text("#!/bin/sh\nexit 0\n")
        for program in (ssh, squeue):
            program.chmod(0o755)
        self.lie = tmp_path / "lie"
        self.lie.write_text("")
        self.told: list[str] = []
        self.store, clock = open_store(str(home)), Clock()
        far = Place("far", "ssh", {"ssh": "far", "config": None}, 0.0)
        register.add_place(self.store, far)
        self.sleeper = subprocess.Popen(["sleep", "300"])
        track = {"workers": [[self.sleeper.pid, None, None]], "find": {"pids": [self.sleeper.pid]}}
        for job in (
            Job("here/process:near", "here", "process", "near", "near", track=track),
            Job("far/slurm:1", "far", "slurm", "1", "away", expect=Expectation(logs=("/tmp/none-*.log",)), track={}),
        ):
            register.register(self.store, job, clock.now(), clock.mono())
        sources = {"process": processes, "slurm": slurm}
        self.near = Post(Place("here", "here", {}, 0.0), Here(), sources, clock)
        self.far = Post(far, Ssh("far", "far", None, clock, str(ssh)), sources, clock)
        self.watch = Watch(self.store, [self.near, self.far], clock, who="test", narrate=self.told.append)
        for post in (self.near, self.far):
            post.refresh(self.store)

    def document(self, ref: str) -> dict[str, Any]:
        return jobs.documents(self.store, everything=True, refs=[ref])[0]

    def close(self) -> None:
        self.sleeper.kill()
        self.sleeper.wait(10)
        self.watch.close()
        self.store.close()


@pytest.fixture
def scene(home: Path, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(home, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("lie", LIES)
def test_a_host_that_lies_fails_its_own_poll_only(scene: Scene, lie: str) -> None:
    """Its job keeps what was known, the other place is watched on, and what is said of it is short and harmless."""
    lie_, told = LIES[lie]
    scene.lie.write_text(lie_)
    for _ in range(2):
        looked = scene.watch.tick(scene.far)
        assert looked is not None
        assert told in (looked.dark.why if looked.dark else "")
        assert scene.watch.tick(scene.near) is not None
    assert scene.document("here/process:near")["state"] == "running"
    assert scene.document("far/slurm:1")["state"] in (None, "missing")
    assert looked is not None
    shown = repr([places.places(scene.store), scene.document("far/slurm:1"), looked.dark])
    assert len(shown) < 20_000
    assert not any(char in str(looked.dark.why if looked.dark else "") for char in "\x1b\x07\u202e")
    assert sum(path.stat().st_size for path in Path(scene.store.home).rglob("*.db*")) < 8_000_000


class Faulty(SlurmSource):
    """A source with a bug."""

    def trouble(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> str | None:
        raise KeyError("not \x1b[31mforeseen")


def test_a_fault_of_ours_fails_one_poll_and_is_written_down_once(home: Path, tmp_path: Path) -> None:
    """An exception that nobody foresaw; the traceback is kept for whoever mends it."""
    scene = Scene(home, tmp_path, Faulty())
    try:
        for _ in range(3):
            assert scene.watch.tick(scene.far) is not None
            assert scene.watch.tick(scene.near) is not None
        assert scene.document("here/process:near")["state"] == "running"
    finally:
        scene.close()
    assert len(scene.told) == 1
    assert "KeyError" in scene.told[0]
    (file,) = (home / "faults").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "Traceback" in file.read_text()
    assert "\x1b" not in file.read_text() + scene.told[0]
