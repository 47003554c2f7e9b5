"""The programs that ride with a poll, as its request has them."""

from __future__ import annotations

from dogwatch import remote
from dogwatch.wire.requests import Call, ExtraProbe


def extra_probe(name: str, call: Call, *, seconds: int | None = None, wait: int | None = None) -> ExtraProbe:
    return ExtraProbe(remote.extra_probe(name), call, seconds, wait)
