"""Pieces of logs, where their counter stands, and how they end: for the tests of endings."""

from __future__ import annotations

from dogwatch.logs.ending.verdict import Counter, Ending
from dogwatch.logs.interface import RUN
from dogwatch.model import Step

WORK = "step 10/100 loss 0.5\nstep 20/100 loss 0.4\n"
CRASH = """\
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
  File "train.py", line 7, in main
    raise ValueError("no such shape")
ValueError: no such shape
"""
CAUGHT = """\
WARNING could not reach the tracker, going on without it
Traceback (most recent call last):
  File "/lib/tracker.py", line 70, in connect
    self.open()
ConnectionError: refused
"""


def ends(log: str, counter: Counter | None = None) -> str:
    ending = Ending()
    if log:
        ending.feed(0, log.encode())
    return ending.judge(counter)


def at(log: str, word: str, done: float, total: float | None, rank: int = RUN, **more: float) -> Counter:
    return Counter(Step(done, total, "steps", None, rank), log.rindex(word), **more)  # type: ignore[arg-type]
