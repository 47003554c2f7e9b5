"""Slack, through an incoming webhook; what came from a job is text there too, and calls nobody."""

from __future__ import annotations

import json

from dogwatch.channels.http import Unsent, post, receipt
from dogwatch.channels.interface import Receipt
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Message

MOST = 2900  # characters of one section; Slack takes 3,000
JOBS = 20


class Slack:
    """A Slack-like receiver: it says `ok`, or JSON with "ok": true."""

    kind = "slack"

    def __init__(self, url: str, *, inside: bool = True) -> None:
        self._url, self._inside = url, inside

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
            reply = post(self._url, json.dumps(body).encode("ascii"), headers, inside=self._inside)
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
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("ok") is True
