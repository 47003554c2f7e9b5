"""Discord, through a webhook; mentions are switched off."""

from __future__ import annotations

import json

from dogwatch.channels.http import Reply, Unsent, post, receipt
from dogwatch.channels.interface import Receipt
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Message

MOST = 1900  # characters of a message; Discord takes 2,000
JOBS = 15


class Discord:
    """Says 204 for what it has taken, and in a 429 how long to wait, in its body rather than its header."""

    kind = "discord"

    def __init__(self, url: str, *, inside: bool = True) -> None:
        self._url, self._inside = url, inside

    def deliver(self, message: Message) -> Receipt:
        head, text = safe(subject(message)), safe(fitted("\n".join(lines(message, JOBS)), MOST - 300))
        body = {"content": f"**{head}**\n```\n{text}\n```", "allowed_mentions": {"parse": []}}
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.key}
        try:
            reply = post(self._url, json.dumps(body).encode("ascii"), headers, inside=self._inside)
        except Unsent as unsent:
            return Receipt(False, str(unsent), unsent.permanent)
        got = receipt(self._url, reply)
        asked = wait_of(reply) if reply.status == 429 and got.after is None else got.after
        return Receipt(got.ok, got.detail, got.permanent, asked)


def safe(text: str) -> str:
    """Without what would end the block or call somebody."""
    return text.replace("`", "'").replace("@", "@\u200b").replace("*", "\u2217")


def wait_of(reply: Reply) -> float | None:
    try:
        told = json.loads(reply.body)
        return min(max(0.0, float(told["retry_after"])), 3600.0)
    except (ValueError, TypeError, LookupError):
        return None
