"""Discord, through a webhook; mentions are switched off."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dogwatch.channels.http import Network, Reply, Unsent, reached, receipt
from dogwatch.channels.interface import Receipt
from dogwatch.channels.picture import NAME, picture
from dogwatch.channels.plugin import ChannelPlugin
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Message
from dogwatch.plugin_config import WebUrl

MOST = 1900  # characters of a message; Discord takes 2,000
JOBS = 15


class Discord:
    """Says 204 for what it has taken, and in a 429 how long to wait, in its body rather than its header."""

    kind = "discord"

    def __init__(self, url: str, network: Network | None = None) -> None:
        self._url, self._network = url, network or Network()

    def deliver(self, message: Message) -> Receipt:
        image = picture(message)
        got = self._post(message, image)
        # It may be the picture that it does not take, and no alert is given up for that.
        return self._post(message, None) if image is not None and got.permanent else got

    def _post(self, message: Message, image: bytes | None) -> Receipt:
        head, text = safe(subject(message)), safe(fitted("\n".join(lines(message, JOBS)), MOST - 300))
        payload = {"content": f"**{head}**\n```\n{text}\n```", "allowed_mentions": {"parse": []}}
        kind, body = "application/json", json.dumps(payload).encode("ascii")
        if image is not None:
            with_image = {**payload, "embeds": [{"image": {"url": f"attachment://{NAME}"}}]}
            kind, body = form(message.key, json.dumps(with_image).encode("ascii"), image)
        headers = {"Content-Type": kind, "Idempotency-Key": message.key}
        try:
            reply = self._network.post(self._url, body, headers)
        except Unsent as unsent:
            return Receipt(False, str(unsent), unsent.permanent)
        got = receipt(self._url, reply)
        asked = wait_of(reply) if reply.status == 429 and got.after is None else got.after
        return Receipt(got.ok, got.detail, got.permanent, asked)


def form(key: str, told: bytes, image: bytes) -> tuple[str, bytes]:
    """(content type, body) of a form with the message and one file; nobody who writes a log knows its boundary."""
    edge = f"dogwatch-{key}".encode("ascii")
    parts = (
        (b'name="payload_json"\r\nContent-Type: application/json', told),
        (b'name="files[0]"; filename="%s"\r\nContent-Type: image/png' % NAME.encode("ascii"), image),
    )
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (edge, *part) for part in parts)
    return f"multipart/form-data; boundary={edge.decode()}", body + b"--%s--\r\n" % edge


def safe(text: str) -> str:
    """Without what would end the block or call somebody."""
    return text.replace("`", "'").replace("@", "@\u200b").replace("*", "\u2217")


def wait_of(reply: Reply) -> float | None:
    try:
        told = json.loads(reply.body)
        return min(max(0.0, float(told["retry_after"])), 3600.0)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Config:
    url: WebUrl


PLUGIN = ChannelPlugin(
    name="discord",
    help="URL: a webhook of a Discord channel",
    config=Config,
    build=lambda config, site: Discord(config.url, site.network),
    preflight=lambda config, site: reached(config.url, site.network),
    argument="url",
    takes="one URL",
    takes_pictures=True,
)
