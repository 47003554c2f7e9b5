"""The log formats that ship: one file each with a table of formats in its `PLUGIN`.

A format file imports `interface`, `scan` and `dogwatch.model`, and does not know the other formats. This folder is
listed once, at the first use: to add one, put a file or a row here. Another package names its formats under the entry
point group `dogwatch.formats`.
"""

from __future__ import annotations

from functools import cache

from dogwatch.logs.foreign import check, guarded
from dogwatch.logs.interface import Format, FormatPlugin
from dogwatch.logs.read_backwards import Plan
from dogwatch.plugins import Plugins

FORMATS = Plugins("dogwatch.formats", __name__, FormatPlugin, check)


@cache
def shipped() -> tuple[Format, ...]:
    """Our formats, in the order of their modules' names."""
    return tuple(row for plugin in FORMATS.shipped().values() for row in plugin.formats)


@cache
def known() -> tuple[Format, ...]:
    """All formats: ours, and then those of other packages that have no kind of ours."""
    kinds = {row.kind for row in shipped()}
    foreign = (
        guarded(row, FORMATS.package(name))
        for name, plugin in FORMATS.foreign().items()
        for row in plugin.formats
        if row.kind not in kinds
    )
    return (*shipped(), *foreign)


@cache
def named() -> dict[str, tuple[str, int]]:
    """What a log is called when a format of this kind speaks, and how much that format knows."""
    return {fmt.kind: (fmt.family, fmt.weight) for fmt in known()}


@cache
def plan() -> Plan:
    """How all of them are looked for."""
    return Plan(known())
