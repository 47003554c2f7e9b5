"""The owner's patterns for progress and errors, and a log they are used on."""

from __future__ import annotations

from dogwatch.errors import UsageError
from dogwatch.logs.reader import Reader
from dogwatch.logs.user import compile_patterns
from tests.fuzz.dice import Dice, refused_well

LONGEST = 4096
NAMES = ("step", "epoch", "throughput", "loss", "\x1b[31m")


def target(data: bytes) -> None:
    """A pattern is compiled or refused in one clean sentence; whatever it is, a log is read by it in linear time."""
    dice = Dice(data)
    name, level = dice.pick(NAMES), dice.pick(("critical", "warning", "loud"))
    progress, _, rest = dice.rest().partition(b"\n")
    error, _, log = rest.partition(b"\n")
    try:
        patterns = compile_patterns(
            {name: progress.decode("utf-8", "replace")}, [(error.decode("utf-8", "replace"), level)], "job.yaml"
        )
    except UsageError as wrong:
        return refused_well(wrong)
    reader = Reader(patterns)
    reading = reader.feed(log * 20 + b"\n")
    assert all(len(trouble.text) <= 1000 for trouble in reading.troubles)


def seeds() -> list[bytes]:
    return [
        b"\x00\x00step (\\d+)/(\\d+)\nOOM|out of memory\nstep 3/10\nCUDA out of memory\n",
        b"\x02\x01(?P<x>[0-9.]+) tok/s\n(?:a+)+$\n12.5 tok/s\naaaaaaaaaaaaaaaaaaaaaaaaab\n",
        b"\x03\x00loss[:=]\\s*(\\S+)\n(?i)error\\b\nloss: 1e-5 \xff\xfe\nERROR x\n",
        b"\x00\x00(?<=x)(1)\n\\1\nx\n",
        b"\x01\x01(.{1,1000}){1,1000}\nbuiltin:oom\nx\n",
    ]
