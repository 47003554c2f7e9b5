"""Every format that ships, found by listing this folder once, at the first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import dogwatch.logs as here
from dogwatch.logs.interface import PLAIN, Format

NOT_FORMATS = frozenset(
    {
        *("interface", "formats", "reader", "meaning", "current", "user"),
        *("stamps", "axis", "timeline", "ending", "ending_words", "charset"),
    }
)
LONGEST_SHAPE, MOST_SHAPES = 2048, 256
_PLANS: dict[bytes, tuple[tuple[bytes, Format], ...]] = {}


@cache
def shipped() -> tuple[Format, ...]:
    """All formats, in the order of their modules' names."""
    names = sorted(module.name for module in iter_modules(here.__path__) if module.name not in NOT_FORMATS)
    return tuple(row for name in names for row in rows_of(import_module(f"{here.__name__}.{name}")))


@cache
def named() -> dict[str, tuple[str, int]]:
    """What a log is called when a format of this kind speaks, and how much that format knows."""
    return {fmt.kind: (fmt.family, fmt.weight) for fmt in shipped()}


@cache
def plan() -> tuple[tuple[bytes, Format], ...]:
    """Every format with the one literal that all its needles share, which is looked for first."""
    return tuple((stem(fmt.needles), fmt) for fmt in shipped())


def plan_for(low: bytes) -> tuple[tuple[bytes, Format], ...]:
    """The part of the plan whose literals can be in a piece of lower-cased log. Most pieces are the last one
    with other numbers, and what has no digits is in a piece only if it is in the piece without digits."""
    if len(low) > LONGEST_SHAPE:
        return plan()
    shape = b"\n".join(dict.fromkeys(low.translate(None, _numbers()).split(b"\n")))
    found = _PLANS.get(shape)
    if found is None:
        if len(_PLANS) >= MOST_SHAPES:
            _PLANS.clear()
        found = _PLANS[shape] = tuple(row for row in plan() if row[0] in shape)
    return found


@cache
def _numbers() -> bytes:
    """What numbers are made of, and no literal is."""
    return bytes(char for char in b"0123456789." if all(char not in literal for literal, _ in plan()))


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
            family=getattr(module, "family", ""),
            weight=getattr(module, "weight", PLAIN),
        ),
    )
