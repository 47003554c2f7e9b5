"""A webhook: the message as JSON, signed where a secret is given, with a key that a receiver can know a repeat by."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import TypedDict

from dogwatch.channels.http import Network, Unsent, reached, receipt
from dogwatch.channels.interface import Receipt
from dogwatch.channels.plugin import ChannelPlugin
from dogwatch.channels.wording import subject
from dogwatch.clock import Clock, stamp
from dogwatch.model import Item, Message
from dogwatch.plugin_config import Secret, WebUrl
from dogwatch.text import plain


class Webhook:
    """Any receiver of JSON over HTTP that answers 2xx for what it has taken."""

    kind = "webhook"

    def __init__(
        self, url: str, secret: str | None = None, *, network: Network | None = None, clock: Clock | None = None
    ) -> None:
        self._url, self._secret, self._network, self._clock = url, secret, network or Network(), clock or Clock()

    def deliver(self, message: Message) -> Receipt:
        body = json.dumps(document(message)).encode("ascii")
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.key}
        if self._secret is not None:
            at = str(int(self._clock.now()))
            headers |= {"X-Dogwatch-Timestamp": at, "X-Dogwatch-Signature": signature(self._secret, at, body)}
        try:
            return receipt(self._url, self._network.post(self._url, body, headers))
        except Unsent as unsent:
            return Receipt(False, str(unsent), unsent.permanent)


def signature(secret: str, at: str, body: bytes) -> str:
    """sha256= and the HMAC over the timestamp, a dot and the body, so that neither can be exchanged."""
    return "sha256=" + hmac.new(secret.encode(), at.encode("ascii") + b"." + body, hashlib.sha256).hexdigest()


class WebhookJob(TypedDict):
    """What is said of one job."""

    name: str
    ref: str
    level: str
    rule: str
    text: str
    why: str | None
    do: str | None
    since: str | None
    resolved: bool
    closed: str | None
    key: str


class WebhookDocument(TypedDict):
    """The body of a request."""

    version: int
    key: str
    level: str
    subject: str
    at: str | None
    jobs: list[WebhookJob]


def document(message: Message) -> WebhookDocument:
    """The body: every job by name, however many there are."""
    return {
        "version": 1,
        "key": message.key,
        "level": message.level.value,
        "subject": subject(message),
        "at": stamp(message.at),
        "jobs": [_job(item) for item in message.items],
    }


def _job(item: Item) -> WebhookJob:
    return {
        "name": plain(item.name, 200),
        "ref": plain(item.subject, 300),
        "level": item.level.value,
        "rule": item.rule,
        "text": plain(item.text, 1000),
        "why": plain(item.why, 1000) or None,
        "do": plain(item.do, 500) or None,
        "since": stamp(item.since),
        "resolved": item.resolved,
        "closed": item.closed or None,
        "key": item.key,
    }


@dataclass(frozen=True, slots=True)
class Config:
    url: WebUrl
    secret: Secret | None = None


PLUGIN = ChannelPlugin(
    name="webhook",
    help="URL [--secret env:NAME|file:PATH]: JSON over HTTP, signed where a secret is given",
    config=Config,
    build=lambda config, site: Webhook(config.url, config.secret, network=site.network, clock=site.clock),
    preflight=lambda config, site: reached(config.url, site.network),
    argument="url",
    takes="one URL",
    keeps_open=True,
)
