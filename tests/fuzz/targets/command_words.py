"""The words of a command line, up to where a verb begins its work."""

from __future__ import annotations

import contextlib
import io
from functools import cache

from dogwatch.cli.parser import VerbParser, parser_of
from dogwatch.cli.verbs import VERBS
from dogwatch.errors import UsageError
from tests.fuzz.dice import Dice, refused_well


@cache
def parser(verb: str) -> VerbParser:
    return parser_of(verb)


def target(data: bytes) -> None:
    """They are taken, or refused with one clean sentence; help is the only other thing that is printed."""
    dice = Dice(data)
    chosen = parser(dice.pick(VERBS))
    words = [word.decode("utf-8", "surrogateescape") for word in dice.rest().split(b"\0")]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            chosen.parse_known_args(words)
    except UsageError as wrong:
        refused_well(wrong)
    except SystemExit as done:
        ended = done.code
        assert ended in (0, None)


def seeds() -> list[bytes]:
    return [
        *(bytes([at]) + b"--json" for at in range(len(VERBS))),
        *(bytes([at]) + b"--help" for at in (0, 1, 5, 18)),
        bytes([VERBS.index("add")]) + b"process\0" + b"12\0" + b"--name\0" + b"x\0--workers\0-1",
        bytes([VERBS.index("add")]) + b"slurm\0" + b"12_3\0--host\0h\0--log=/x",
        bytes([VERBS.index("alerts")]) + b"add\0slack\0https://example.org\0--level\0critical",
        bytes([VERBS.index("events")]) + b"--since\0" + b"9" * 60,
        bytes([VERBS.index("watch")]) + b"--pid\0" + b"1\0" + b"2\0--total-items\0001,000\0--gpu-ids\0000",
        bytes([VERBS.index("preflight")]) + b"job.yaml\0--gpu-memory\00040GB\0--signal\0TERM\0\xff\xfe",
    ]
