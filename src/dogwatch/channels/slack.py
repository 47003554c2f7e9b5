"""Slack, through an incoming webhook; what came from a job is text there too, and calls nobody."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dogwatch.channels.http import Network, Unsent, reached, receipt
from dogwatch.channels.interface import Receipt
from dogwatch.channels.plugin import ChannelPlugin
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Message
from dogwatch.plugin_config import WebUrl

MOST = 2900  # characters of one section; Slack takes 3,000
JOBS = 20


class Slack:
    """A Slack-like receiver: it says `ok`, or JSON with "ok": true."""

    kind = "slack"

    def __init__(self, url: str, network: Network | None = None) -> None:
        self._url, self._network = url, network or Network()

    def deliver(self, message: Message) -> Receipt:
        text = escaped(fitted("\n".join(lines(message, JOBS)), MOST // 2))
        body = {
            "text": escaped(subject(message)),
            "blocks": [
                {
                    "type": "header",
                    "text": {"type": "plain_text", "text": fitted(escaped(subject(message)), 149), "emoji": False},
                },
                {"type": "section", "text": {"type": "mrkdwn", "text": f"```{text}```", "verbatim": True}},
            ],
        }
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.key}
        try:
            reply = self._network.post(self._url, json.dumps(body).encode("ascii"), headers)
        except Unsent as unsent:
            return Receipt(False, str(unsent), unsent.permanent)
        return receipt(self._url, reply, taken(reply.body))


def escaped(text: str) -> str:
    """Nothing in it can be a mention, a link or the end of its code block."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("```", "'''").replace("`", "'")


def taken(body: bytes) -> bool:
    """A proxy, or Slack's other door, answers 200 to what it refuses; what is said decides."""
    said = body.strip()
    if said in (b"", b"ok"):
        return True
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and told.get("ok") is True


@dataclass(frozen=True, slots=True)
class Config:
    url: WebUrl


PLUGIN = ChannelPlugin(
    name="slack",
    help="URL: an incoming webhook of Slack",
    config=Config,
    build=lambda config, site: Slack(config.url, site.network),
    preflight=lambda config, site: reached(config.url, site.network),
    argument="url",
    takes="one URL",
    job_file={"webhook": "url"},
    instead="give it with --alert-slack",
)
