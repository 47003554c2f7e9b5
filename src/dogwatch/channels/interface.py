"""What a channel must offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dogwatch.model import Notice


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came of one try at saying a notice. `permanent`: trying again cannot help."""

    ok: bool
    detail: str = ""
    permanent: bool = False


class Channel(Protocol):
    """One way of saying things to people."""

    kind: str

    def deliver(self, notice: Notice) -> Receipt: ...
