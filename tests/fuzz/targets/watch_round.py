"""Everything that follows from a host's answer: sources, logs, files, GPUs, memory, rules, and what is written down."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from dogwatch.clock import Clock
from dogwatch.model import Known, Place
from dogwatch.sources.process import source as processes
from dogwatch.transport.interface import Answer
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.tick.place_poller import PlacePoller
from dogwatch.wire.answer import Malformed, checked, read
from tests.fuzz.dice import LYING, Dice
from tests.fuzz.targets.answer import TRUTH, WATCHED
from tests.sources.slurm.lines import NOW


class Steps(Clock):
    """A clock that is put forward by hand."""

    at = NOW

    def now(self) -> float:
        return self.at

    def mono(self) -> float:
        return self.at - NOW


class Host:
    """A place that answers each question with the same document."""

    body: dict[str, Any]

    def __init__(self, clock: Steps) -> None:
        self._clock = clock

    def ask(self, request: Mapping[str, Any], deadline: float = 1.0) -> Answer:
        return Answer("here", self._clock.now(), 0.1, checked(copy.deepcopy(self.body)))

    def close(self) -> None:
        pass


def about(ref: str) -> dict[str, Any]:
    """The truth, with what was said of one job said of this one, and of a run that goes on."""
    made: dict[str, Any] = json.loads(json.dumps(TRUTH).replace('"job": ', f'"{ref}": '))
    made["process"]["runs"]["r"]["workers"][0]["end"] = None
    return made


def target(data: bytes) -> None:
    """Whatever passes the check of every answer is concluded from without an error, by a watcher that was told the
    truth before and is again afterwards; what it writes down is JSON."""
    dice, clock = Dice(data), Steps()
    host, ref = Host(clock), dice.pick(("r", "p", "f"))
    truth = about(ref)
    try:
        lie = read(json.dumps(dice.lied(truth)).encode()).body
    except Malformed:
        return
    poller = PlacePoller(Place("here"), host, {processes.kind: processes}, clock, every=10.0)
    poller._jobs = {one.ref: WatchedJob(one, Known(), Memory(), Readers(None)) for one in WATCHED}
    for body in (truth, lie, truth):
        host.body, clock.at = body, clock.at + 3600
        done = poller.tick({})
        poller.accept(done)
        for one in poller.jobs.values():
            json.dumps(one.memory.to_json())
        for event in done.tick.events:
            json.dumps(event.body)


def seeds() -> list[bytes]:
    return [
        bytes([ref]) + LYING + bytes([at, 0, 0, how]) for ref in range(3) for at, how in ((3, 5), (50, 9), (90, 30))
    ]
