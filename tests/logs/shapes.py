"""The logs of shapes.txt: short, in the shape that programs print, each with what it says at its end."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Shape(NamedTuple):
    """A log, the number it shows, of how many, the unit, and the name of what wrote it."""

    log: str
    step: float | None
    total: float | None
    unit: str | None
    format: str


def _shapes() -> dict[str, Shape]:
    text = (Path(__file__).parent / "shapes.txt").read_text(encoding="utf-8")
    found = {}
    for block in text.split("\n=== ")[1:]:
        head, _, log = block.partition("\n")
        name, step, total, unit, kind = (part.strip() for part in head.split(" | "))
        log = log.rstrip("\n") + "\n"
        found[name] = Shape(
            log.replace("␍", "\r"),
            None if step == "-" else float(step),
            None if total == "-" else float(total),
            None if unit == "-" else unit,
            kind,
        )
    return found


SHAPES = _shapes()
