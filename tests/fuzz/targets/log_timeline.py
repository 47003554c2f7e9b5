"""A whole log: its timeline, how it ended, and where it stands."""

from __future__ import annotations

import math

from dogwatch.logs.ending.verdict import Ending
from dogwatch.logs.timeline import Timeline
from tests.fuzz.dice import Dice
from tests.fuzz.targets import log_reader


def target(data: bytes) -> None:
    """Never raises; moments are finite numbers in the order of the log; the verdict is one of a few words."""
    ending = Ending()
    line = Timeline(listen=ending.feed)
    for piece in Dice(data).pieces():
        line.feed(piece)
    line.close()
    for at, done, total in line.moments():
        assert math.isfinite(at)
        assert math.isfinite(done)
        assert total is None or math.isfinite(total)
    assert len(ending.judge(line.counter())) < 40


def seeds() -> list[bytes]:
    stamped = b"".join(b"2026-11-15 20:00:%02d step %d/20 loss 2.5\n" % (n, n) for n in range(20))
    ends = [
        b"Training completed\n",
        b"slurmstepd: error: *** JOB 7 CANCELLED ***\n",
        b"Killed\n",
        b"Segmentation fault\n",
    ]
    return [b"\x02\x08\x20" + stamped + end for end in ends] + log_reader.seeds()
