"""Ask a place once, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dogwatch.model import Unreachable

if TYPE_CHECKING:
    from dogwatch.wire.answer import CheckedAnswer
    from dogwatch.wire.json_value import JsonObject

DEADLINE = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole reply of the probe: `at` is our clock when it was asked, `checked` the reply in typed sections, and
    `connections` how many were made to another machine for it."""

    place: str
    at: float
    duration: float
    checked: CheckedAnswer
    connections: int = 0

    @property
    def body(self) -> dict[str, Any]:
        """The reply as JSON has it."""
        return self.checked.body


class Transport(Protocol):
    """A way to one place. `ask` takes the probe's sections, returns within the deadline and never raises
    for a place that cannot be reached; one caller at a time."""

    def ask(self, request: JsonObject, deadline: float = DEADLINE) -> Answer | Unreachable: ...

    def close(self) -> None: ...
