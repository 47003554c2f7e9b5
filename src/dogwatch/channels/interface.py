"""What a channel must offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dogwatch.model import Message

DEADLINE = 20.0  # seconds in all for one try, whatever the receiver does
LONGEST_WAIT = 6 * 3600.0  # seconds that a receiver may ask us to wait


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came of one try at saying something. `permanent`: trying again cannot help. `after`: the seconds that the
    receiver asks us to wait. `detail` never holds a secret: of a URL, the host only."""

    ok: bool
    detail: str = ""
    permanent: bool = False
    after: float | None = None


class Channel(Protocol):
    """One way of saying things to people. `deliver` returns within its deadline and does not raise for what a
    receiver does; a try of the same message carries the same key."""

    kind: str

    def deliver(self, message: Message) -> Receipt: ...
