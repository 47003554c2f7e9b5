"""What a look at a rented box costs: against a bare python3 over the same ssh, and how many connections it takes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figures import Figure
from dogwatch import assemble
from dogwatch.clock import Clock
from dogwatch.model import Expectation, Job, Running
from dogwatch.model.job import Place
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.home import prepare
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.ssh import Ssh
from dogwatch.watcher.tick.place_poller import PlacePoller
from tests.lab.box import Boxes, why_no_boxes
from tests.support import wait_until

PAIRS, SESSIONS = 15, 4
WORK = (
    f"One tick of the watcher (without the start of a program) over a real box with {SESSIONS} runs in tmux, each with "
    "a marker, a log that grows, results and a disk, against `ssh BOX python3 -c pass` over the same ssh, "
    f"{PAIRS} times in turn; and the connections of such a tick, as the sshd of the box counts them."
)
LIMIT = 2.0


def measure() -> Iterator[Figure]:
    reason = why_no_boxes()
    if reason:
        print(f"  skipped: {reason}")
        return
    with tempfile.TemporaryDirectory(prefix="dogwatch-bench-") as folder:
        boxes = Boxes(Path(folder))
        try:
            yield from _ticks(boxes, folder)
        finally:
            boxes.end()


def _ticks(boxes: Boxes, folder: str) -> Iterator[Figure]:
    box = boxes.start("gpu")
    for number in range(SESSIONS):
        loop = f"cd; while :; do echo step $(date +%s)/99999999999 >> run{number}.log; sleep 0.2; done"
        box.run("tmux", "new-session", "-d", "-s", f"run{number}", f"sh -c '{loop}'")
    wait_until(lambda: all((box.home / f"run{number}.log").exists() for number in range(SESSIONS)))
    poller = _poller(boxes, os.path.join(folder, "home"))
    assert all(isinstance(after.state, Running) for after in poller.look().after.values())
    bare = ["ssh", "-F", str(boxes.ssh_config), "-T", "--", "gpu", "python3 -c pass"]
    ours, theirs, connections = [], [], []
    for _ in range(PAIRS):
        began = time.monotonic()
        subprocess.run(bare, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        theirs.append(time.monotonic() - began)
        before, began = box.connections(), time.monotonic()
        result = poller.tick({})
        ours.append(time.monotonic() - began)
        assert result.unreachable is None, result.unreachable
        poller.accept(result)
        connections.append(box.connections() - before)
    yield Figure("one tick over a box, against ssh and python3", median(ours) / median(theirs), "×", LIMIT)
    yield Figure("one tick over a box", median(ours), "s")
    yield Figure("connections of a tick over a box", max(connections), "count", 1)


def _poller(boxes: Boxes, home: str) -> PlacePoller:
    """A poller of the box, as a watcher has one, with its runs."""
    prepare(home)
    clock, place = Clock(), Place("gpu", "ssh", {"ssh": "gpu", "config": str(boxes.ssh_config)}, 1.0)
    with open_store(home) as store:
        register.add_place(store, place)
        for number in range(SESSIONS):
            register.register(store, _job(number, clock), clock.now(), clock.mono())
        poller = PlacePoller(place, Ssh("gpu", "gpu", str(boxes.ssh_config), clock), assemble.Sources(), clock)
        poller.refresh(store)
    return poller


def _job(number: int, clock: Clock) -> Job:
    name, home = f"run{number}", "/root"
    track = {"tmux": name, "markers": [f"{home}/{name}_DONE"], "results": [f"{home}/*.log"]}
    expect = Expectation(logs=(f"{home}/{name}.log",), outputs=(f"{home}/*.log",))
    return Job(f"gpu/box:{name}", "gpu", "box", name, name, "", None, clock.now(), track, expect)
