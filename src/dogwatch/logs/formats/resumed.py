"""Lines that say a run goes on from where an earlier one stopped."""

from __future__ import annotations

import re
from functools import partial

from dogwatch.logs.interface import Format, FormatPlugin
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Resumed

_UNIT = r"(global[ _]step|step|iter(?:ation)?|update|epoch)s?[\"']?[ \t]{0,2}[:=#]?[ \t]{0,2}(\d{1,15})(?![\d/]|\.\d|%)"
_UNITS = {"g": "steps", "s": "steps", "i": "iterations", "u": "updates", "e": "epochs"}

# literal, what may follow it before the unit
PHRASES = (
    ("resum", r"(?:ing|ed|e)\b[^\n]{0,80}?(?<![a-z_])"),
    ("continuing training from ", ""),
    ("loaded checkpoint ", r"[^\n]{0,240}?[( ]"),
    ("restor", r"(?:ed|ing)\b[^\n]{0,120}?(?<![a-z_])"),
    ("training starts at ", ""),
)


def _read(pattern: re.Pattern[str], line: str) -> list[LogEvent]:
    found = pattern.search(line.lower())
    return [Resumed(float(found[2]), _UNITS[found[1][0]])] if found and float(found[2]) > 0 else []


def _row(literal: str, then: str) -> Format:
    pattern = literal + then + _UNIT
    read = partial(_read, lazily(pattern, re.ASCII))
    return Format(f"resumed by {literal.strip()}", (literal.encode(),), read, hint=pattern.encode())


rows = tuple(_row(*phrase) for phrase in PHRASES)

PLUGIN = FormatPlugin("resumed", rows)
