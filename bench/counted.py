"""A program that counts what it does itself: `python -m bench.counted ls`, or `watch LOG` over the jobs of its home.

It prints one JSON object. What is counted (calls, opened files, modules, bytes) is the same on a busy machine.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType

POLLS = 5  # before the one that is counted
LINES = 10
EVERY = 5.0  # seconds between polls


class Counts:
    """Calls of Python and C functions while `during` runs something, and files opened in the whole life."""

    def __init__(self) -> None:
        self.calls = self.opened = 0
        sys.addaudithook(self._audit)

    def during(self, work: Callable[[], object]) -> None:
        sys.setprofile(self._profile)
        try:
            work()
        finally:
            sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        self.opened += event == "open"


def count_ls() -> dict[str, int]:
    """One `dogwatch ls --no-poll`, imports included."""
    before, counts = set(sys.modules), Counts()

    def ls() -> None:
        from dogwatch.cli.main import main

        with contextlib.redirect_stdout(io.StringIO()):
            main(["ls", "--no-poll"])

    counts.during(ls)
    return {"calls": counts.calls, "opened": counts.opened, "modules": len(set(sys.modules) - before)}


def count_watch(log: str) -> dict[str, object]:
    """One poll of a watcher that knows its jobs, while a log of one of them grows."""
    tracemalloc.start()
    before, counts = set(sys.modules), Counts()
    from dogwatch import assemble
    from dogwatch.clock import Clock
    from dogwatch.store.rows import places

    class Later(Clock):
        """The real clock, put forward by hand: nobody waits until a poll is due."""

        by = 0.0

        def now(self) -> float:
            return super().now() + self.by

        def mono(self) -> float:
            return super().mono() + self.by

    clock = Later()
    with assemble.store() as store, store.location.lease("bench", clock.now()):
        watch = assemble.watch(store, clock, who="bench", every=EVERY)
        try:
            for poll in range(POLLS):
                _grow(log, poll)
                clock.by += EVERY
                watch.step()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            opened = counts.opened
            _grow(log, POLLS)
            clock.by += EVERY
            counts.during(watch.step)
            polls = places.places(store)[0]["polls"]
        finally:
            watch.close()
    if polls != POLLS + 1:
        raise RuntimeError(f"this machine was polled {polls} times, not {POLLS + 1}")
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    return {
        "calls": counts.calls,
        "opened": counts.opened - opened - 1,
        "modules": len(set(sys.modules) - before),
        "held": held,
        "loaded": loaded,
    }


def _grow(log: str, poll: int) -> None:
    with open(log, "a", encoding="ascii") as file:
        file.writelines(f"step {LINES * poll + line}/100000 loss 0.{line + 1:02d}\n" for line in range(LINES))


if __name__ == "__main__":
    counted = count_ls() if sys.argv[1] == "ls" else count_watch(sys.argv[2])
    print(json.dumps(counted))
