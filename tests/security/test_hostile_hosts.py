"""One host that lies does not end the watch of the others: a real sshd, whose forced command runs the real probe."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dogwatch.clock import Clock
from dogwatch.model import Expectation, Job, Place, Unreachable
from dogwatch.sources.interface import Source
from dogwatch.sources.process import source as processes
from dogwatch.sources.slurm import SlurmSource
from dogwatch.sources.slurm import source as slurm
from dogwatch.store.rows import jobs, places
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.local import Here
from dogwatch.transport.ssh import Ssh
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller
from tests.security.hosts import Hosts, harm
from tests.security.lies import FITTING, LIES


class Scene:
    """A watcher over this machine, where a job runs, and over a host that lies."""

    def __init__(self, home: Path, hosts: Hosts, slurm: Source = slurm) -> None:
        hosts.tell("")
        self.told: list[str] = []
        self.store, clock = open_store(str(home)), Clock()
        config = str(hosts.sshd.config)
        far = Place("liar", "ssh", {"ssh": "liar", "config": config}, 0.0)
        register.add_place(self.store, far)
        self.sleeper = subprocess.Popen(["sleep", "300"])
        track = {"workers": [[self.sleeper.pid, None, None]], "find": {"pids": [self.sleeper.pid]}}
        log = Expectation(logs=(str(hosts.log),))
        for job in (
            Job("here/process:near", "here", "process", "near", "near", track=track),
            Job("liar/slurm:12", "liar", "slurm", "12", "away", expect=log, track={}),
        ):
            register.register(self.store, job, clock.now(), clock.mono())
        sources = {"process": processes, "slurm": slurm}
        self.near = PlacePoller(Place("here", "here", {}, 0.0), Here(), sources, clock)
        self.far = PlacePoller(far, Ssh("liar", "liar", config, clock), sources, clock)
        self.watch = Watcher(self.store, [self.near, self.far], clock, who="test", narrate=self.told.append)
        for poller in (self.near, self.far):
            poller.refresh(self.store)

    def document(self, ref: str) -> Any:
        return jobs.documents(self.store, everything=True, refs=[ref])[0]

    def close(self) -> None:
        self.sleeper.kill()
        self.sleeper.wait(10)
        self.watch.close()
        self.store.close()


@pytest.fixture
def scene(home: Path, hosts: Hosts) -> Iterator[Scene]:
    made = Scene(home, hosts)
    yield made
    made.close()


@pytest.mark.parametrize("lie", LIES)
def test_a_host_that_lies_fails_its_own_poll_only(scene: Scene, home: Path, hosts: Hosts, lie: str) -> None:
    """Its job keeps what was known, the other place is watched on, our code has no fault, the words are harmless."""
    hosts.tell(LIES[lie])
    looked = scene.watch.tick(scene.far)
    assert scene.watch.tick(scene.near) is not None
    assert looked is not None
    assert lie in FITTING or looked.unreachable is not None
    assert scene.told == []
    assert scene.document("here/process:near")["state"] == "running"
    assert scene.document("liar/slurm:12")["state"] in (None, "missing", "running")
    why = looked.unreachable.why if looked.unreachable else ""
    assert not harm(why.encode())
    assert len(repr([places.places(scene.store), scene.document("liar/slurm:12")])) < 20_000
    assert sum(path.stat().st_size for path in home.rglob("*.db*")) < 8_000_000


def test_a_lie_leaves_nothing_behind(scene: Scene, hosts: Hosts) -> None:
    """The next honest answer is read as if there had been no lie."""
    for lie in ("a log of the year 3 million", "a log at another path", "a clock of the year 9999", "depth"):
        hosts.tell(LIES[lie])
        assert scene.watch.tick(scene.far) is not None
    hosts.tell("")
    looked = scene.watch.tick(scene.far)
    assert looked is not None
    assert looked.unreachable is None
    assert scene.document("liar/slurm:12")["state"] == "running"


def test_an_answer_that_drips_is_late(hosts: Hosts) -> None:
    """A byte now and then does not prolong the deadline."""
    hosts.tell("# before\nimport time\nwhile True:\n    out(b'x'); time.sleep(0.02)")
    way = Ssh("liar", "liar", str(hosts.sshd.config), Clock())
    answer = way.ask({}, 2.0)
    way.close()
    assert isinstance(answer, Unreachable)
    assert answer.kind == "late"


class Faulty(SlurmSource):
    """A source with a bug."""

    def trouble(self, answer: Any, jobs: Sequence[Job]) -> str | None:
        raise KeyError("not \x1b[31mforeseen")


def test_a_fault_of_ours_fails_one_poll_and_is_written_down_once(home: Path, hosts: Hosts) -> None:
    """An exception that nobody foresaw; the traceback is kept for whoever mends it."""
    scene = Scene(home, hosts, Faulty())
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
