"""The log formats that ship: one file each with `kind`, `needles` and `read`, or one row of a file's `rows` table.

A format file imports `interface`, `scan` and `dogwatch.model`, and does not know the other formats. This folder is
listed once, at the first use: to add one, put a file or a row here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from dogwatch.logs.interface import PLAIN, Format
from dogwatch.logs.piece import Plan


@cache
def shipped() -> tuple[Format, ...]:
    """All formats, in the order of their modules' names."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(row for name in names for row in rows_of(import_module(f"{__name__}.{name}")))


@cache
def named() -> dict[str, tuple[str, int]]:
    """What a log is called when a format of this kind speaks, and how much that format knows."""
    return {fmt.kind: (fmt.family, fmt.weight) for fmt in shipped()}


@cache
def plan() -> Plan:
    """How all of them are looked for."""
    return Plan(shipped())


def rows_of(module: ModuleType) -> tuple[Format, ...]:
    """The formats of one module: its table, or itself."""
    rows: tuple[Format, ...] | None = getattr(module, "rows", None)
    if rows is not None:
        return rows
    return (
        Format(
            kind=module.kind,
            needles=module.needles,
            read=module.read,
            seeks_step=getattr(module, "seeks_step", False),
            hint=getattr(module, "hint", b""),
            sift=getattr(module, "sift", None),
            family=getattr(module, "family", ""),
            weight=getattr(module, "weight", PLAIN),
        ),
    )
