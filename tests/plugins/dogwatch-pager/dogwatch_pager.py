"""A channel: an on-call pager that takes a short text over HTTP.

    dogwatch alerts add pager https://pager.example.org/hook --set team=nights

What it connects with is the network that it is built with: that one knows where this channel may go.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from dogwatch.channels.http import Network, Unsent, reached, receipt
from dogwatch.channels.interface import Receipt
from dogwatch.channels.plugin import ChannelPlugin
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Message
from dogwatch.plugin_config import Text, WebUrl

LONGEST = 500


@dataclass(frozen=True, slots=True)
class Config:
    """The URL is a secret: it is kept by reference, and is here by its value."""

    url: WebUrl
    team: Text = "everybody"


class Pager:
    """Tells the truth about whether the pager took a message."""

    kind = "pager"

    def __init__(self, url: str, team: str, network: Network) -> None:
        self._url, self._team, self._network = url, team, network

    def deliver(self, message: Message) -> Receipt:
        page = {"team": self._team, "title": subject(message), "text": fitted("\n".join(lines(message, 5)), LONGEST)}
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.key}
        try:
            return receipt(self._url, self._network.post(self._url, json.dumps(page).encode("ascii"), headers))
        except Unsent as unsent:
            return Receipt(False, str(unsent), unsent.permanent)


PLUGIN = ChannelPlugin(
    name="pager",
    help="URL [--set team=NAME]: the on-call pager",
    config=Config,
    build=lambda config, site: Pager(config.url, config.team, site.network),
    preflight=lambda config, site: reached(config.url, site.network),
    argument="url",
    takes="one URL",
    job_file={"webhook": "url", "team": "team"},
)
