"""A link that is too slow for the logs: less is asked for until the answer comes through, and nothing is left out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dogwatch import assemble
from dogwatch.clock import Clock
from dogwatch.model import Expectation, Job, Place, Unreachable
from dogwatch.store.rows import jobs
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller

CARRIES = 100_000


class Slow(Here):
    """The real reach over a link that carries so many bytes of an answer in time, and is late with a longer one."""

    def __init__(self) -> None:
        super().__init__()
        self.late = 0

    def ask(self, request: Mapping[str, Any], deadline: float = 10.0) -> Answer | Unreachable:
        answer = super().ask(request, deadline)
        if isinstance(answer, Answer) and len(json.dumps(answer.body)) > CARRIES:
            self.late += 1
            return Unreachable(self.place, answer.at, deadline, "it did not answer in time", "late")
        return answer


def test_a_link_that_is_too_slow_gets_smaller_questions(home: Path, tmp_path: Path) -> None:
    """A megabyte of log comes through in parts, each late look followed by a smaller question, to its last line."""
    log = tmp_path / "train.log"
    log.write_text("step 1/20000\n")
    expect, clock = Expectation(logs=(str(log),)), Clock()
    track: dict[str, Any] = {"find": {"name": "one", "pidfile": None, "pids": [os.getpid()], "want": 1}}
    job = Job("slow/process:1", "slow", "process", "1", name="one", registered=1.0, track=track, expect=expect)
    transport, place = Slow(), Place("slow", "ssh", {}, 0.0)
    with open_store(str(home)) as store:
        register.add_place(store, place)
        register.register(store, job, clock.now(), clock.mono())
        watch = Watcher(store, (PlacePoller(place, transport, assemble.Sources(), clock),), clock, who="test")
        watch.poll_once()
        with log.open("a") as file:
            file.writelines(
                f"step {number}/20000 and so many more words that it takes time\n" for number in range(2, 20001)
            )
        for _ in range(60):
            watch.poll_once()
            told: Any = jobs.documents(store, refs=[job.ref])[0]
            if told["progress"]["step"] == 20000:
                break
        watch.close()
    assert told["progress"]["step"] == 20000
    assert 0 < transport.late < 30
