"""Checklist: what doctor says of us and preflight of a place, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import ChecklistLine


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at: its verdict is the list's own word, and one that is not good says what to do.
    `counts` are figures for programs, by name."""

    verdict: str
    what: str
    text: str
    remedy: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    def document(self) -> ChecklistLine:
        return {
            "verdict": self.verdict,
            "what": self.what,
            "text": self.text,
            "remedy": self.remedy,
            "counts": dict(self.counts),
        }

    def rows(self) -> list[str]:
        """As a person reads it: the verdict and what was found, and below it what to do."""
        said = f"{self.verdict:<5} {plain(self.what, 80)}: {plain(self.text, 400)}"
        return [said, *([f"      {plain(self.remedy, 300)}"] if self.remedy else [])]
