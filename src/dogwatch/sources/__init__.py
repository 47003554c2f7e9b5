"""Where jobs live. One file or folder per kind; `interface.py` says what a source must offer.

A source turns jobs into its section of the probe request, and the probe's answer into Observations.
It has no verb that changes a job, starts nothing and reads no file: it may import `model` only.
To add one: a file here whose name is its kind, with a module-level `PLUGIN = SourcePlugin(...)`; another package names
its own under the entry point group `dogwatch.sources`. `dogwatch.testing.check_source` checks either.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from dogwatch.plugins import Plugins
from dogwatch.sources.interface import Kind, Scheduler, Source, SourcePlugin

SOURCES = Plugins("dogwatch.sources", __name__, SourcePlugin)


def build(kind: str) -> Source:
    """The source of this kind. One of another package, or one that is not there any more, is blind to its jobs when it
    fails, and costs no other job anything."""
    from dogwatch.sources.foreign import ForeignSource, MissingSource

    plugin = SOURCES.find(kind)
    if plugin is None:
        return MissingSource(kind, f"the source {kind} of this job {SOURCES.why_missing(kind)}")
    package = SOURCES.package(kind)
    return ForeignSource(plugin, f"the source {kind} of {package}") if package else plugin.build()


@cache
def kind_of(name: str) -> Kind:
    """What is true of all jobs of the source `name`: the KIND of its file, or of `kind.py` in its folder; without one,
    what holds of any."""
    if name not in kinds():
        return Kind(name)
    module = import_module(f"{__name__}.{name}")
    if hasattr(module, "__path__") and any(part.name == "kind" for part in iter_modules(module.__path__)):
        module = import_module(f"{__name__}.{name}.kind")
    kind: Kind = getattr(module, "KIND", None) or Kind(name)
    return kind


@cache
def kinds() -> tuple[str, ...]:
    """The sources that come with Dogwatch, by name."""
    return tuple(sorted(one.name for one in iter_modules(__path__) if one.name not in ("interface", "foreign")))


def schedulers() -> list[Scheduler]:
    """The kinds whose jobs a scheduler runs."""
    return [kind for name in kinds() if isinstance(kind := kind_of(name), Scheduler)]
