"""Host names: which place of ours is meant by an alias, an address, a `user@host` or a name that people use for it."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.store.interface import Store
from dogwatch.store.rows import places as place_rows
from dogwatch.transport.target import Target

if TYPE_CHECKING:
    from dogwatch.wire.documents.watch import PlaceDocument

NAME_SERVER_SECONDS = 2.0


class HostNames:
    """The places by every name that can mean them; ssh's configuration is asked only for a name that is not ours."""

    def __init__(self, store: Store) -> None:
        self._places = [place for place in place_rows.places(store) if place["kind"] in ("here", "ssh")]
        self.known = _called(self._places)
        self._asked: dict[str, str | None] = {}
        self._doors: dict[str, dict[str, str]] | None = None

    def place(self, name: str) -> str | None:
        """The place that a name means; None where it means none, or several alike."""
        if name in self.known:
            return self.known[name]
        if name not in self._asked:
            self._asked[name] = self._by_address(name)
        return self._asked[name]

    def _by_address(self, name: str) -> str | None:
        """Where ssh would go for this name, compared with where it goes for each place: the same address, and where
        ssh's configuration names one for it, the same port and user."""
        if self._doors is None:
            self._doors = {place["name"]: _settings(place["transport"]["ssh"] or "", place) for place in self._ssh()}
        user = name.rpartition("@")[0]
        found = set()
        for place in self._ssh():
            ours, theirs = self._doors[place["name"]], _settings(name, place)
            if not ours or not theirs or not _same_host(theirs["hostname"], ours["hostname"]):
                continue
            configured = theirs["hostname"] != name.rpartition("@")[2]
            if configured and theirs.get("port") != ours.get("port"):
                continue
            if (configured or user) and theirs.get("user") != ours.get("user"):
                continue
            found.add(place["name"])
        return found.pop() if len(found) == 1 else None

    def _ssh(self) -> list[PlaceDocument]:
        return [place for place in self._places if place["kind"] == "ssh"]


def _called(places: list[PlaceDocument]) -> dict[str, str]:
    """A place's own name, this machine's names, and an ssh alias that one place alone has."""
    aliases = [alias for place in places for alias in _aliases(place)]
    called = {alias: place["name"] for place in places for alias in _aliases(place) if aliases.count(alias) == 1}
    return called | {place["name"]: place["name"] for place in places}


def _aliases(place: PlaceDocument) -> Iterator[str]:
    if place["kind"] == "here":
        yield from dict.fromkeys(("localhost", os.uname().nodename))
        return
    alias = (place["transport"] or {}).get("ssh")
    if isinstance(alias, str):
        yield from dict.fromkeys((alias, alias.rpartition("@")[2]))


def _settings(name: str, place: PlaceDocument) -> dict[str, str]:
    """What ssh would use for a name, with the configuration of a place; nothing for what is no name."""
    with contextlib.suppress(UsageError, CouldNotPoll):
        found = Target(name, (place["transport"] or {}).get("config")).settings()
        return found if found.get("hostname") else {}
    return {}


def _same_host(one: str, other: str) -> bool:
    if one.lower() == other.lower():
        return True
    if _is_address(one) == _is_address(other):
        return False
    address, name = (one, other) if _is_address(one) else (other, one)
    return ipaddress.ip_address(address) in _addresses(name)


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


def _addresses(name: str) -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The addresses of a name; none where nobody answers in time, because a name server may hang for long."""
    found: set[ipaddress.IPv4Address | ipaddress.IPv6Address] = set()

    def ask() -> None:
        with contextlib.suppress(OSError, UnicodeError, ValueError):
            told = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            found.update(ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in told)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(NAME_SERVER_SECONDS)
    return set() if asking.is_alive() else found
