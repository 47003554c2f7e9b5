"""What a channel's plug-in says of it, and the rules that hold for every channel, whoever wrote it.

What stands in a job's file may be somebody else's idea: a channel that is named there gets no credentials but for the
server they belong to, connects to no private network, starts no program and writes no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from dogwatch import secret
from dogwatch.channels.interface import Channel, Receipt
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Message
from dogwatch.plugin_config import Setting, filled, keys
from dogwatch.text import plain

if TYPE_CHECKING:  # it comes with TLS, which a watcher without such a channel never needs
    from dogwatch.channels.http import Network

OUTSIDE = "outside"  # of a channel that a job's file names, in whatever form: it may not lead into a private network
PRIVATE_ENDINGS = (".local", ".internal", ".lan", ".localhost")


class Unfit(ValueError):
    """What is wrong with a channel, in words without its secret."""


class Account(Protocol):
    """The owner's account at a server. `at` is this very account for its own server, and one without any secret for
    another one."""

    def at(self, host: str | None, port: int | None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Site:
    """What a channel is built with. `network` is its only way out; `account` the account to use at its server."""

    network: Network
    clock: Clock
    account: Any = None


@dataclass(frozen=True, slots=True)
class ChannelPlugin:
    """A channel by its name, which is its kind. `config` is a dataclass of its keys (see `dogwatch.plugin_config`),
    `build` makes it, `preflight` reaches it without telling it anything and says what answers.

    The word behind `alerts add NAME` fills the key `argument`; `takes` says what that is. `job_file` gives the names of
    keys in a job's file, the first of which is needed there; without any, no job's file can name this channel, and
    `instead` says where the owner would. `account` describes the owner's account in the table `section` of the
    configuration file. `unusable` says why a channel cannot be added, if it cannot."""

    name: str
    help: str
    config: type
    build: Callable[[Any, Site], Channel]
    preflight: Callable[[Any, Site], str]
    argument: str = ""
    takes: str = "nothing more"
    job_file: Mapping[str, str] = field(default_factory=dict)
    instead: str = "use `dogwatch alerts add`"
    section: str = ""
    account: type | None = None
    unusable: Callable[[Mapping[str, Setting]], str] = lambda settings: ""
    takes_pictures: bool = False
    keeps_open: bool = False  # a program behind it may hold what is open, and has to be told when it no longer is


def check(plugin: ChannelPlugin) -> None:
    """Raise for a plug-in whose keys do not fit together, or that lets a job's file say what only the owner may."""
    known = keys(plugin.config)
    if plugin.argument and plugin.argument not in known:
        raise ValueError(f"it has no key {plugin.argument!r}, which `alerts add` would fill")
    for name in plugin.job_file.values():
        if name not in known:
            raise ValueError(f"it has no key {name!r}, which a job's file would fill")
        if known[name][1].owner_only:
            raise ValueError(f"a job's file may not fill its key {name!r}")
    needed = {name for name, (_, key) in known.items() if key.needed}
    if plugin.job_file and not needed <= set(plugin.job_file.values()):
        raise ValueError("a job's file could not fill every key that is needed")


def site_of(plugin: ChannelPlugin, config: Any, outside: bool, accounts: Mapping[str, Account], clock: Clock) -> Site:
    """What this channel may use. The rules about a job's file are kept here: no channel is built in another way."""
    from dogwatch.channels.http import Network

    if plugin.account is None:
        return Site(Network(private=not outside), clock)
    own = accounts.get(plugin.section) or plugin.account()
    used = own.at(getattr(config, "host", None), getattr(config, "port", None))
    credentials = [name for name, key in keys(plugin.account).values() if key.secret and getattr(used, name)]
    if used is not own and credentials:
        raise Unfit(f"the {credentials[0]} of the owner's account belongs to another server")
    readable = replace(used, **{name: secret.read(getattr(used, name)) for name in credentials})
    return Site(Network(private=used is own or not outside), clock, readable)


def built(
    plugin: ChannelPlugin, settings: Mapping[str, Setting], accounts: Mapping[str, Account], clock: Clock
) -> Channel:
    """The channel that these settings describe, with its secrets read now."""
    outside = bool(settings.get(OUTSIDE))
    config = filled(plugin.config, settings)
    site = site_of(plugin, config, outside, accounts, clock)
    channel = plugin.build(config, site)
    if site.network.private:
        return channel
    return Confined(channel, tuple(servers(plugin, config)))


def servers(plugin: ChannelPlugin, config: Any) -> Iterator[str]:
    """The servers that a configuration names, by name or address."""
    for name, key in keys(plugin.config).values():
        value = getattr(config, name)
        if key.server and value:
            yield server_of(value)


def server_of(value: str) -> str:
    """The server of a URL, or the value itself where it is one."""
    from urllib.parse import urlsplit

    try:
        return (urlsplit(value).hostname or "") if "://" in value else value
    except ValueError:
        return ""


class Confined:
    """A channel that a job's file names: whatever it would connect with, nothing is given to it while a server of its
    own is on a private network."""

    def __init__(self, channel: Channel, names: tuple[str, ...]) -> None:
        self.kind, self._channel, self._names = channel.kind, channel, names

    def deliver(self, message: Message) -> Receipt:
        from dogwatch.channels.timed import public

        for name in self._names:
            if leads_inside(name) or any(not public(found) for found in addresses(name)):
                return Receipt(False, f"{plain(name, 100)} is an address of a private network", permanent=True)
        return self._channel.deliver(message)


def addresses(name: str) -> list[str]:
    """What a name stands for now; nothing where nobody can say, which the channel will find out too."""
    import socket

    try:
        return [str(row[4][0]) for row in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return []


def leads_inside(name: str) -> bool:
    """Whether a server is on a private network by its very name or address."""
    import socket

    from dogwatch.channels.timed import public

    try:
        return not public(name)
    except ValueError:
        low = name.lower().rstrip(".")
    try:  # 127.1, 0x7f000001 and 2130706433 are addresses too
        return not public(socket.inet_ntoa(socket.inet_aton(low)))
    except (OSError, UnicodeError):
        return low == "localhost" or low.endswith(PRIVATE_ENDINGS)


def refuse_private(plugin: ChannelPlugin, settings: Mapping[str, Setting], accounts: Mapping[str, Account]) -> None:
    """Refuse what a job's file says before anything connects to it, unless it is the server of the owner's account."""
    own = (accounts.get(plugin.section) or plugin.account()) if plugin.account is not None else None
    host, port = settings.get("host"), settings.get("port")
    named_server = host if isinstance(host, str) else None, port if isinstance(port, int) else None
    for called, name in plugin.job_file.items():
        value, key = settings.get(name), keys(plugin.config)[name][1]
        literal = isinstance(value, str) and not value.startswith(secret.KINDS)
        if not key.server or not literal or not leads_inside(server_of(str(value))):
            continue
        if own is not None and own.at(*named_server) is own:
            continue
        shown = f"{plugin.name}.{called}" + ("" if key.secret else f" {plain(str(value), 60)}")
        raise UsageError(f"{shown} of the job file is on a private network, which only you may use: {plugin.instead}")
