"""What the server behind a webhook answers: its status, its headers and the beginning of its body."""

from __future__ import annotations

import math

from dogwatch.channels import discord, slack
from dogwatch.channels.http import Reply, receipt, waits
from dogwatch.channels.interface import LONGEST_WAIT
from tests.fuzz.dice import Dice, is_clean

SECRET = "T0ABCDEF/B0ABCDEF/Zq3x9Lm2Kp7Rt5Vw8Yb4Nc6D"
URL = f"https://hooks.example.org/services/{SECRET}?token=abcd1234efgh"


def target(data: bytes) -> None:
    """The receipt is one clean bounded sentence that repeats nothing of our URL; a wait is finite and bounded."""
    dice = Dice(data)
    status = dice.number(700)
    after, _, body = dice.rest().partition(b"\0")
    reply = Reply(status, {"retry-after": after.decode("latin-1")}, body)
    for taken in (None, slack.taken(body)):
        got = receipt(URL, reply, taken)
        assert is_clean(got.detail)
        assert len(got.detail) < 500
        assert SECRET.split("/")[-1] not in got.detail
        assert "abcd1234efgh" not in got.detail
    for wait in (waits(reply), discord.wait_of(reply)):
        assert wait is None or (math.isfinite(wait) and 0 <= wait <= LONGEST_WAIT)


def seeds() -> list[bytes]:
    return [
        b"\xc8\0\0" + b"\0ok",
        b"\xad\x01\0" + b"30\0" + b'{"retry_after": 1e400, "message": "slow"}',
        b"\xad\x01\0" + b"Wed, 21 Oct 2026 07:28:00 GMT\0" + URL.encode(),
        b"\x2e\x01\0" + b"nan\0" + b"<a href=" + URL.encode() + b">moved</a>",
        b"\x90\x01\0" + b"-1\0" + b'{"retry_after": "x"}',
        b"\xad\x01\0" + b"\0" + b'{"retry_after": 1' + b"0" * 400 + b"}",
        b"\xad\x01\0" + b"\0" + b"[" * 10_000,
        b"\xf4\x01\0" + b"1" * 400 + b"\0\x1b]52;c;aGk=\x07",
    ]
