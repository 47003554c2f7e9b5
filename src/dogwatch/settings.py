"""Settings: the one configuration file, `$XDG_CONFIG_HOME/dogwatch/config.toml`; docs/config.md describes it.

It is never looked for in the working directory. Every key is checked; what is wrong is said with the file, the key and
what would be right. Without the file everything has its default.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dogwatch import secret
from dogwatch.channels.plugin import Account
from dogwatch.channels.registry import CHANNELS, wanted
from dogwatch.config import duration
from dogwatch.errors import UsageError
from dogwatch.plugin_config import Setting, checked, keys
from dogwatch.text import named, plain

MOST = 1 << 20
LEVELS = ("critical", "warning", "info", "progress")
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s?-\s?([01]?\d|2[0-3]):([0-5]\d)")
CORE = frozenset({"alerts", "price_per_gpu_hour", "bundles"})
ALERTS = ("quiet_hours", "repeat", "digest", "heartbeat", "heartbeat_every", "channel")
ROUTED = ("name", "kind", "levels", "jobs", "rules")  # what every channel may say besides its own keys
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
Route: TypeAlias = Mapping[str, list[str]]  # the `levels`, `jobs` and `rules` that a channel takes; without a key all


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as it is written down: its kind, what it needs (secrets by reference) and what it takes."""

    name: str
    kind: str
    settings: Mapping[str, Setting]
    route: Route


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the file can say. Times of day are minutes after midnight, local time."""

    accounts: Mapping[str, Account] = field(default_factory=dict)  # the owner's, by the table that describes each
    channels: tuple[Channel, ...] = ()
    quiet: tuple[int, int] | None = None
    repeat: float = 4 * 3600.0
    digest: int | None = None
    heartbeat: str | None = None
    heartbeat_every: float = 300.0
    price_per_gpu_hour: float | None = None
    bundles: bool | str = True


def path(environment: Mapping[str, str]) -> str:
    """Where the file is, whether or not there is one."""
    base = environment.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "dogwatch", "config.toml")


def text(file: str) -> str:
    """What stands in a file; nothing where there is none."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read(MOST)
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not TOML: it is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None


def read(said: str, file: str) -> Settings:
    """The settings that a file's text means; defaults where it says nothing."""
    try:
        tree = tomllib.loads(said)
    except (ValueError, RecursionError) as error:  # of numbers and depths that Python refuses too
        raise UsageError(f"{file} is not TOML: {plain(str(error), 200)}") from None
    return _Reader(file).settings(tree)


def load(file: str) -> Settings:
    """The settings of a file; defaults where there is none."""
    return read(text(file), file)


_Table: TypeAlias = Mapping[str, Any]  # of the file, before it is checked


class _Reader:
    """Takes a tree apart, key by key, and knows how to say what is wrong."""

    def __init__(self, file: str) -> None:
        self._file = file

    def settings(self, tree: _Table) -> Settings:
        tables = {name: plugin for name, plugin in _accounts().items() if name in tree} if set(tree) - CORE else {}
        self._known("", tree, (*tables, *sorted(CORE)))
        alerts = self._table("alerts", tree.get("alerts", {}))
        self._known("alerts.", alerts, ALERTS)
        listed = alerts.get("channel", [])
        if not isinstance(listed, list):
            raise self._wrong("alerts.channel", "is written [[alerts.channel]], once for each channel")
        channels = tuple(self._channel(n, self._table(f"alerts.channel {n}", one)) for n, one in enumerate(listed, 1))
        names = [one.name for one in channels]
        for name in names:
            if names.count(name) > 1:
                raise self._wrong("alerts.channel", f"has two channels called {name!r}; give one another name = …")
        return Settings(
            accounts={name: self._account(name, kind, tree[name]) for name, kind in tables.items()},
            channels=channels,
            quiet=self._hours("alerts.quiet_hours", alerts.get("quiet_hours")),
            repeat=self._span("alerts.repeat", alerts.get("repeat"), 4 * 3600.0),
            digest=self._hour("alerts.digest", alerts.get("digest")),
            heartbeat=self._reference("alerts.heartbeat", alerts.get("heartbeat")),
            heartbeat_every=self._span("alerts.heartbeat_every", alerts.get("heartbeat_every"), 300.0),
            price_per_gpu_hour=self._price(tree.get("price_per_gpu_hour")),
            bundles=self._bundles(tree.get("bundles", True)),
        )

    def _price(self, value: Any) -> float | None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and 0 <= value < 1e6):
            raise self._wrong("price_per_gpu_hour", "is a number, as in 2.50")
        return None if value is None else float(value)

    def _bundles(self, value: Any) -> bool | str:
        if not isinstance(value, bool) and not (isinstance(value, str) and value.startswith("/")):
            raise self._wrong("bundles", "is true, false or the absolute path of a directory")
        return value

    def _account(self, name: str, kind: type, value: Any) -> Any:
        """An account of the owner's; its secrets stay references until they are used."""
        try:
            kept = checked(kind, self._table(name, value), f"{name}.")
            return kind(**{keys(kind)[key][0]: value for key, value in kept.items()})
        except UsageError as error:
            raise UsageError(f"{self._file}: {error}") from None

    def _channel(self, number: int, table: _Table) -> Channel:
        where = f"alerts.channel {number}: "
        kind = table.get("kind")
        try:
            plugin = wanted(kind, where)
            settings = checked(plugin.config, {k: v for k, v in table.items() if k not in ROUTED}, where)
        except UsageError as error:
            raise UsageError(f"{self._file}: {error}") from None
        route = {key: self._texts(where + key, table[key]) for key in ("levels", "jobs", "rules") if key in table}
        check_route(route, f"{self._file}: {where}")
        given = self._text(where + "name", table.get("name", plugin.name))
        try:
            name = named(given, "channel name")
        except UsageError as error:
            raise UsageError(f"{self._file}: {where}{error}") from None
        return Channel(name, plugin.name, settings, route)

    def _known(self, where: str, table: Iterable[str], names: tuple[str, ...]) -> None:
        for key in table:
            if key not in names:
                raise self._wrong(where + plain(key, 60), f"is not known; use one of {', '.join(names)}")

    def _table(self, where: str, value: Any) -> _Table:
        if not isinstance(value, dict):
            raise self._wrong(where, "is a table")
        return value

    def _text(self, where: str, value: Any) -> str:
        if not isinstance(value, str) or any(ord(char) < 32 for char in value):
            raise self._wrong(where, "is a text on one line")
        return value

    def _texts(self, where: str, value: Any) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(where, "is a list of texts")
        return value

    def _span(self, where: str, value: Any, default: float) -> float:
        if value is None:
            return default
        try:
            return duration(value, where)
        except UsageError as error:
            raise UsageError(f"{self._file}: {error}") from None

    def _hour(self, where: str, value: Any) -> int | None:
        found = _HOUR.fullmatch(value) if isinstance(value, str) else None
        if value is not None and found is None:
            raise self._wrong(where, 'is a time of day, as in "08:00"')
        return None if found is None else int(found[1]) * 60 + int(found[2])

    def _hours(self, where: str, value: Any) -> tuple[int, int] | None:
        found = _HOURS.fullmatch(value) if isinstance(value, str) else None
        if value is not None and found is None:
            raise self._wrong(where, 'is two times of day, as in "22:00-07:00"')
        return None if found is None else (int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4]))

    def _reference(self, where: str, value: Any) -> str | None:
        return None if value is None else secret.checked(self._text(where, value), f"{self._file}: {where}")

    def _wrong(self, where: str, what: str) -> UsageError:
        return UsageError(f"{self._file}: {where} {what}")


def check_route(route: Route, where: str) -> None:
    unknown = [level for level in route.get("levels", ()) if level not in LEVELS]
    if unknown:
        raise UsageError(f"{where}levels has {unknown[0]!r}; there are {', '.join(LEVELS)}")


def _accounts() -> dict[str, type]:
    """The tables that describe an account of the owner's, as channels know them."""
    return {plugin.section: plugin.account for plugin in CHANNELS.all().values() if plugin.account is not None}
