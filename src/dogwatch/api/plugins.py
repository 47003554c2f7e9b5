"""Plug-ins of other packages: which there are, and which cannot be used and why."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.api.checklist import Line
from dogwatch.channels.registry import CHANNELS
from dogwatch.logs.formats import FORMATS
from dogwatch.plugins import Broken
from dogwatch.rules import RULES
from dogwatch.sources import SOURCES

KINDS = (SOURCES, CHANNELS, FORMATS, RULES)
REMEDY = "upgrade or uninstall that package; until then it is ignored"


def broken() -> list[Broken]:
    """Those that cannot be used; every foreign plug-in is loaded for that."""
    for plugins in KINDS:
        plugins.foreign()
    return [one for plugins in KINDS for one in plugins.broken]


def lines() -> Iterator[Line]:
    """What doctor says of them; nothing where there are none."""
    for plugins in KINDS:
        for name in plugins.foreign():
            yield Line("ok", f"plug-in {name}", f"{plugins.package(name)} ({plugins.group})")
    for one in broken():
        yield Line("warn", f"plug-in {one.name}", f"{one.package} ({one.group}): it {one.why}", REMEDY)
