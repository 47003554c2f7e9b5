"""Facts: what the place said, and the few words that every line of the checklist uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PASS, WARN, FAIL = "pass", "warn", "fail"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the place said. A question that it did not answer has its reason instead."""

    body: Mapping[str, Any]

    def of(self, question: str) -> tuple[Mapping[str, Any], str]:
        """(what was found, "") or ({}, why nothing was)."""
        answer = (self.body.get("found") or {}).get(question)
        if answer is None:
            return {}, "it was not asked"
        return (answer["found"], "") if answer.get("ok") else ({}, str(answer.get("why", "no reason was given")))

    def is_set(self, variable: str) -> bool:
        return bool((self.body.get("variables") or {}).get(variable))

    def value(self, variable: str) -> str:
        """What one of the few variables holds that are looked at."""
        return str((self.body.get("shown") or {}).get(variable) or "")

    @property
    def cwd(self) -> str:
        return str(self.body.get("cwd") or "/")


def several(things: list[str], most: int = 3) -> str:
    """A few of them by name, the rest by number."""
    more = f" and {len(things) - most} more" if len(things) > most else ""
    return ", ".join(things[:most]) + more


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
