"""Facts: what the place said, and the few words that every line of the checklist uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from dogwatch.wire.programs import Preflight

PASS, WARN, FAIL = "pass", "warn", "fail"
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the place said. A question that it did not answer has its reason instead."""

    answer: Preflight

    def of(self, question: str, kind: type[Found]) -> Found | str:
        """What was found, or why nothing was."""
        answered = self.answer.found.get(question)
        if answered is None:
            return "it was not asked"
        if not answered.ok:
            return answered.why
        try:
            return msgspec.convert(answered.found, kind)
        except msgspec.ValidationError as error:
            return f"the answer cannot be used: {error}"

    def value(self, variable: str) -> str:
        """The value of one of the few variables that are shown."""
        return self.answer.shown.get(variable) or ""


def several(things: list[str], most: int = 3) -> str:
    """A few of them by name, the rest by number."""
    more = f" and {len(things) - most} more" if len(things) > most else ""
    return ", ".join(things[:most]) + more


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
