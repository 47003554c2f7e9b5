"""The stores that the tests here run on, each known by a text that another process can open it by."""

from __future__ import annotations

from pathlib import Path

from dogwatch.store.interface import Location, Store
from dogwatch.store.sqlite.location import Home

KINDS = ("sqlite",)


def fresh(kind: str, folder: Path) -> str:
    """The name of a store that nobody has made yet."""
    assert kind in KINDS
    return f"sqlite:{folder / 'home'}"


def located(name: str) -> Location:
    kind, _, where = name.partition(":")
    assert kind in KINDS
    return Home(where)


def opened(name: str) -> Store:
    return located(name).open()
