"""Plug-ins: parts that describe themselves, found in a folder of ours and among the packages that are installed.

A file or folder of ours is a plug-in when it has `PLUGIN`; another package names its own under an entry point. Nothing
is loaded before it is asked for, and a foreign plug-in that cannot be used is a `Broken`, never an exception.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dogwatch.text import plain

ATTRIBUTE = "PLUGIN"


class Plugin(Protocol):
    """What every kind of plug-in says of itself."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Broken:
    """A plug-in of another package that cannot be used, and why."""

    group: str
    name: str
    package: str
    why: str

    @property
    def sentence(self) -> str:
        return f"the plug-in {self.name} ({self.group}) of {self.package} {self.why}"


P = TypeVar("P", bound=Plugin)


class Plugins(Generic[P]):
    """The plug-ins of one kind: those in our `folder`, and the foreign ones of the entry point group. `check` raises
    for a foreign one that could not be used."""

    def __init__(self, group: str, folder: str, kind: type[P], check: Callable[[P], None] | None = None) -> None:
        self.group, self._folder, self._kind, self._check = group, folder, kind, check
        self._shipped: dict[str, P] = {}
        self._foreign: dict[str, P] | None = None
        self._packages: dict[str, str] = {}
        self.broken: list[Broken] = []

    def shipped(self) -> dict[str, P]:
        """Ours, in the order of their names."""
        for name in self._modules():
            self._ship(name)
        return dict(sorted(self._shipped.items()))

    def foreign(self) -> dict[str, P]:
        """Those of other packages that can be used, in the order of their names."""
        if self._foreign is None:
            self._load_foreign()
        return dict(sorted((self._foreign or {}).items()))

    def all(self) -> dict[str, P]:
        """Ours first."""
        return {**self.shipped(), **self.foreign()}

    def find(self, name: str) -> P | None:
        """The plug-in of this name; only its own file is loaded where it is ours."""
        if name in self._shipped or (name in self._modules() and self._ship(name)):
            return self._shipped[name]
        return self.foreign().get(name)

    def package(self, name: str) -> str:
        """Which other package a plug-in came with; empty for ours."""
        return self._packages.get(name, "") if name in self.foreign() else ""

    def why_missing(self, name: str) -> str:
        """Why there is no such plug-in, in words that continue its name."""
        self.foreign()
        return next((broken.why for broken in self.broken if broken.name == name), "is not installed")

    def _modules(self) -> list[str]:
        return [module.name for module in pkgutil.iter_modules(importlib.import_module(self._folder).__path__)]

    def _ship(self, name: str) -> bool:
        if name not in self._shipped:
            plugin = getattr(importlib.import_module(f"{self._folder}.{name}"), ATTRIBUTE, None)
            if not isinstance(plugin, self._kind):
                return False  # a part that several plug-ins share
            self._shipped[name] = plugin
        return True

    def _load_foreign(self) -> None:
        self._foreign = {}
        if not may_be_named(self.group):
            return
        from importlib import metadata

        ours = set(self._modules())
        for entry in sorted(metadata.entry_points(group=self.group), key=lambda entry: entry.name):
            package = plain(f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package", 80)
            loaded, why = self._load(entry)
            if entry.name in ours:
                why = "has the name of one that Dogwatch has itself"
            elif entry.name in self._foreign:
                why = f"has the name of one of {self._packages[entry.name]}"
            if loaded is None or why:
                self.broken.append(Broken(self.group, plain(entry.name, 60), package, why))
                continue
            self._foreign[entry.name], self._packages[entry.name] = loaded, package

    def _load(self, entry: Any) -> tuple[P | None, str]:
        try:
            loaded = entry.load()
            if isinstance(loaded, self._kind) and self._check is not None:
                self._check(loaded)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - another package's code may fail in any way
            return None, f"could not be loaded: {what_failed(error)}"
        if not isinstance(loaded, self._kind):
            return None, f"is not a {self._kind.__name__}"
        if loaded.name != entry.name:
            return None, f"calls itself {plain(str(loaded.name), 60)!r}"
        return loaded, ""


def may_be_named(group: str) -> bool:
    """Whether an installed package may have entry points of a group. The library that reads them takes two megabytes
    for as long as a watcher lives, and usually there are none: so their files are searched for the name first."""
    word = group.encode()
    return any(path.endswith(".egg") or os.path.isfile(path) or _names(path, word) for path in sys.path)


def _names(folder: str, word: bytes) -> bool:
    """Whether the word is in what a package in a folder says of its entry points."""
    try:
        packages = [name for name in os.listdir(folder or ".") if name.lower().endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(word in _content(os.path.join(folder, name, "entry_points.txt")) for name in packages)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def what_failed(error: BaseException) -> str:
    """An exception of another package's code on one line."""
    return plain(f"{type(error).__name__}: {error}", 160)


class Failures:
    """What foreign plug-ins did wrong while they were used; each sentence is kept once until it is taken."""

    def __init__(self) -> None:
        self._kept: set[str] = set()
        self._new: list[str] = []

    def add(self, what: str, error: BaseException) -> str:
        """Keep that a plug-in raised; the sentence."""
        sentence = f"{what} failed: {what_failed(error)}"
        if sentence not in self._kept and len(self._kept) < 1000:
            self._kept.add(sentence)
            self._new.append(sentence)
        return sentence

    def take(self) -> Iterator[str]:
        """Those that nobody has taken yet."""
        while self._new:
            yield self._new.pop(0)


FAILURES = Failures()
