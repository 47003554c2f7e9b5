"""The channels that there are: ours by their files here, others by the entry point group `dogwatch.channels`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dogwatch.channels.interface import Channel, Receipt
from dogwatch.channels.plugin import Account, ChannelPlugin, built, check
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Message
from dogwatch.plugin_config import Setting
from dogwatch.plugins import Plugins
from dogwatch.text import plain

CHANNELS = Plugins("dogwatch.channels", "dogwatch.channels", ChannelPlugin, check)


def wanted(kind: Any, where: str = "") -> ChannelPlugin:
    """The plug-in of a kind that somebody wrote down, or a sentence about which there are."""
    plugin = CHANNELS.find(kind) if isinstance(kind, str) else None
    if plugin is not None:
        return plugin
    if isinstance(kind, str) and any(broken.name == kind for broken in CHANNELS.broken):
        raise UsageError(f"{where}{plain(kind, 60)} {CHANNELS.why_missing(kind)}")
    raise UsageError(f"{where}kind is one of {', '.join(CHANNELS.all())}")


def open_channel(kind: str, settings: Mapping[str, Setting], accounts: Mapping[str, Account], clock: Clock) -> Channel:
    """The channel that a row of the store describes. One whose plug-in is gone or fails says so in its receipt."""
    plugin = CHANNELS.find(kind)
    if plugin is None:
        return Unavailable(kind, f"the channel {plain(kind, 60)} {CHANNELS.why_missing(kind)}")
    package = CHANNELS.package(kind)
    if not package:
        return built(plugin, settings, accounts, clock)
    title = f"the channel {kind} of {package}"
    return Foreign(plugin, title, settings, accounts, clock)


def takes_pictures(kind: str) -> bool:
    plugin = CHANNELS.find(kind)
    return plugin is not None and plugin.takes_pictures


def keeps_open(kind: str) -> bool:
    plugin = CHANNELS.find(kind)
    return plugin is not None and plugin.keeps_open


class Unavailable:
    """Stands for a channel whose plug-in is not there: nothing is lost, since its messages are tried again."""

    def __init__(self, kind: str, why: str) -> None:
        self.kind, self._why = kind, why

    def deliver(self, message: Message) -> Receipt:
        return Receipt(False, self._why)


class Foreign:
    """A channel of another package: what it raises is a receipt, by the error's type only, as its words may hold a
    secret."""

    def __init__(self, plugin: ChannelPlugin, title: str, *how: Any) -> None:
        self.kind, self._plugin, self._title, self._how = plugin.name, plugin, title, how

    def deliver(self, message: Message) -> Receipt:
        from dogwatch.secret import NoSecret

        try:
            receipt: object = built(self._plugin, *self._how).deliver(message)
        except NoSecret as missing:
            return Receipt(False, str(missing))
        except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
            return Receipt(False, f"{self._title} failed: {type(error).__name__}")
        if not isinstance(receipt, Receipt):
            return Receipt(False, f"{self._title} returned no receipt")
        return receipt
