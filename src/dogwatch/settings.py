"""Settings: the one configuration file, `$XDG_CONFIG_HOME/dogwatch/config.toml`; docs/config.md describes it.

It is never looked for in the working directory. Every key is checked; what is wrong is said with the file, the key and
what would be right. Without the file everything has its default.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dogwatch import secret
from dogwatch.config import duration
from dogwatch.errors import UsageError
from dogwatch.text import named

MOST = 1 << 20
LEVELS = ("critical", "warning", "info", "progress")
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s?-\s?([01]?\d|2[0-3]):([0-5]\d)")
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


SUBMISSION, TLS_FROM_START = 587, 465  # ports of mail servers, RFC 6409 and 8314


@dataclass(frozen=True, slots=True)
class Smtp:
    """How mail leaves this machine; the password by reference."""

    host: str = "localhost"
    port: int = 25
    sender: str = ""
    user: str | None = None
    password: str | None = None
    tls: str = "starttls"

    def at(self, host: str | None, port: int | None) -> Smtp:
        """This server, or another one in its place. User, password and TLS belong to the server they were configured
        for: another one gets no credentials, and its encryption is decided for itself."""
        same = host is None or host.lower().rstrip(".") == self.host.lower()
        port = port or (self.port if same else SUBMISSION)
        if same and port == self.port:
            return self
        return Smtp(host or self.host, port, self.sender, tls="tls" if port == TLS_FROM_START else "starttls")


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as it is written down: its kind, what it needs (secrets by reference) and what it takes."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    route: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the file can say. Times of day are minutes after midnight, local time."""

    smtp: Smtp = field(default_factory=Smtp)
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
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not TOML: {error}") from None
    return _Reader(file).settings(tree)


def load(file: str) -> Settings:
    """The settings of a file; defaults where there is none."""
    return read(text(file), file)


class _Reader:
    """Takes a tree apart, key by key, and knows how to say what is wrong."""

    def __init__(self, file: str) -> None:
        self._file = file

    def settings(self, tree: Mapping[str, Any]) -> Settings:
        self._known("", tree, ("smtp", "alerts", "price_per_gpu_hour", "bundles"))
        alerts = self._table("alerts", tree.get("alerts", {}))
        self._known("alerts.", alerts, ("quiet_hours", "repeat", "digest", "heartbeat", "heartbeat_every", "channel"))
        listed = alerts.get("channel", [])
        if not isinstance(listed, list):
            raise self._wrong("alerts.channel", "is written [[alerts.channel]], once for each channel")
        channels = tuple(self._channel(n, self._table(f"alerts.channel {n}", one)) for n, one in enumerate(listed, 1))
        names = [one.name for one in channels]
        for name in names:
            if names.count(name) > 1:
                raise self._wrong("alerts.channel", f"has two channels called {name!r}; give one another name = …")
        return Settings(
            smtp=self._smtp(self._table("smtp", tree.get("smtp", {}))),
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

    def _smtp(self, table: Mapping[str, Any]) -> Smtp:
        self._known("smtp.", table, ("host", "port", "from", "user", "password", "tls"))
        port = table.get("port", 25)
        if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
            raise self._wrong("smtp.port", "is a number from 1 to 65535")
        tls = table.get("tls", "starttls")
        if tls not in ("starttls", "tls", "none"):
            raise self._wrong("smtp.tls", "is starttls, tls or none")
        host = self._text("smtp.host", table.get("host", "localhost"))
        if tls == "none" and host not in ("localhost", "127.0.0.1", "::1"):
            raise self._wrong("smtp.tls", "can be none only where the server is this machine")
        user = table.get("user")
        return Smtp(
            host=host,
            port=port,
            sender=self._text("smtp.from", table.get("from", "")),
            user=None if user is None else self._text("smtp.user", user),
            password=self._reference("smtp.password", table.get("password")),
            tls=tls,
        )

    def _channel(self, number: int, table: Mapping[str, Any]) -> Channel:
        where = f"alerts.channel {number}: "
        kind = table.get("kind")
        if kind not in NEEDS:
            raise self._wrong(where + "kind", f"is one of {', '.join(NEEDS)}")
        needs = NEEDS[kind]
        self._known(where, table, ("name", "kind", "levels", "jobs", "rules", *needs))
        settings: dict[str, Any] = {}
        for key, check in needs.items():
            if table.get(key) is None and key not in OPTIONAL:
                raise self._wrong(where + key, "is needed")
            if table.get(key) is not None:
                try:
                    settings[key] = check(table[key], key)
                except UsageError as error:
                    raise UsageError(f"{self._file}: {where}{error}") from None
        route = {key: self._texts(where + key, table[key]) for key in ("levels", "jobs", "rules") if key in table}
        check_route(route, f"{self._file}: {where}")
        return Channel(
            named(self._text(where + "name", table.get("name", kind)), "channel name"), kind, settings, route
        )

    def _known(self, where: str, table: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for key in table:
            if key not in names:
                raise self._wrong(where + key, f"is not known; there are {', '.join(names)}")

    def _table(self, where: str, value: Any) -> Mapping[str, Any]:
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


def check_route(route: Mapping[str, Any], where: str) -> None:
    unknown = [level for level in route.get("levels", ()) if level not in LEVELS]
    if unknown:
        raise UsageError(f"{where}levels has {unknown[0]!r}; there are {', '.join(LEVELS)}")


def _reference(value: Any, what: str) -> str:
    return secret.checked(str(value), what)


def address(value: Any, what: str) -> str:
    """An e-mail address that cannot be anything else."""
    if not isinstance(value, str) or not re.fullmatch(r"[^\s@<>,;:\"\\()\[\]]{1,64}@[A-Za-z0-9.-]{1,253}", value):
        raise UsageError(f"{what} takes one e-mail address, not {str(value)[:80]!r}")
    return value


def _argv(value: Any, what: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and "\0" not in one for one in value):
        raise UsageError(f"{what} is a list: the program and its arguments, no shell line")
    return value


def _path(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise UsageError(f"{what} is an absolute path")
    return value


def _host(value: Any, what: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}", value):
        raise UsageError(f"{what} is the name of a mail server")
    return value


def _port(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 65536:
        raise UsageError(f"{what} is a number from 1 to 65535")
    return value


# What each kind of channel needs; secrets, and a URL is one, by reference.
NEEDS: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    "webhook": {"url": _reference, "secret": _reference},
    "slack": {"url": _reference},
    "discord": {"url": _reference},
    "apprise": {"url": _reference},
    "email": {"to": address, "host": _host, "port": _port},
    "command": {"argv": _argv},
    "file": {"path": _path},
    "desktop": {},
}
OPTIONAL = frozenset({"secret", "host", "port"})
