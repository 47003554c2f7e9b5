"""Checklist: what doctor says of us and preflight of a place, a line each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dogwatch.text import plain


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at: its verdict is the list's own word, and one that is not good says what to do."""

    verdict: str
    what: str
    text: str
    remedy: str = ""

    def document(self) -> dict[str, Any]:
        return asdict(self)

    def rows(self) -> list[str]:
        """As a person reads it: the verdict and what was found, and below it what to do."""
        said = f"{self.verdict:<5} {plain(self.what, 80)}: {plain(self.text, 400)}"
        return [said, *([f"      {plain(self.remedy, 300)}"] if self.remedy else [])]
