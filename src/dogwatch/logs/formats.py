"""Every format that ships, found by listing this folder once, at the first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import dogwatch.logs as here
from dogwatch.logs.interface import Format

NOT_FORMATS = frozenset({"interface", "formats", "reader", "current", "user"})


@cache
def shipped() -> tuple[Format, ...]:
    """All formats, in the order of their modules' names."""
    names = sorted(module.name for module in iter_modules(here.__path__) if module.name not in NOT_FORMATS)
    return tuple(row for name in names for row in rows_of(import_module(f"{here.__name__}.{name}")))


@cache
def plan() -> tuple[tuple[bytes, Format], ...]:
    """Every format with the one literal that all its needles share, which is looked for first."""
    return tuple((stem(fmt.needles), fmt) for fmt in shipped())


def stem(needles: tuple[bytes, ...]) -> bytes:
    """The longest literal that is in every needle; empty when they share nothing."""
    first = min(needles, key=len)
    parts = (first[a:b] for a in range(len(first)) for b in range(a + 1, len(first) + 1))
    return max((part for part in parts if all(part in needle for needle in needles)), key=len, default=b"")


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
            hint=getattr(module, "hint", None),
            sift=getattr(module, "sift", None),
        ),
    )
