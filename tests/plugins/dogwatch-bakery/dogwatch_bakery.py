"""A log format: the bakery program, which prints `[bakery] 37 of 100 loaves are out of the oven`."""

from __future__ import annotations

import re

from dogwatch.logs.interface import RUN, TRAINER, Format, FormatPlugin
from dogwatch.model import LogEvent, Step

_LINE = re.compile(r"\[bakery\] (\d{1,12}) of (\d{1,12}) loaves", re.ASCII)


def read(line: str) -> list[LogEvent]:
    """How far the line says the run is; nothing for any other line."""
    found = _LINE.search(line)
    return [Step(float(found[1]), float(found[2]), "loaves", None, RUN)] if found else []


PLUGIN = FormatPlugin("bakery", (Format("bakery", (b"[bakery] ",), read, family="bakery", weight=TRAINER),))
