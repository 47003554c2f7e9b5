"""Lines: what the last line of a log tells of the silence after it, by how often one of its kind stood there; pure.

A job that begins something long says so first, whatever its words for it are: of 190 silences in 210 logs that were
longer than any before them, three in four followed a line of a kind that had never stood last, and nearly all others
came among the first dozen gaps, at a place that the counter tells, or where a machine slept. The oftener a line of
this kind has stood last, the less something new is due after it, unless the log says nothing but its count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

RARE = 5  # gaps for each kind of line: where kinds are more common than that, a new one is no news
MOST = 64


@dataclass(slots=True)
class Lines:
    """How often lines of each kind stood `last` when a silence ended, the kind that stands there now, and the longest
    gap after each kind."""

    seen: dict[str, int] = field(default_factory=dict)
    last: str = ""
    longest: dict[str, float] = field(default_factory=dict)

    def end_silence(self, gap: float) -> None:
        if self.last:
            self.seen[self.last] = self.seen.get(self.last, 0) + 1
            self.longest[self.last] = max(self.longest.get(self.last, 0.0), gap)
        if len(self.seen) > MOST:
            rarest = min(self.seen, key=self.seen.__getitem__)
            del self.seen[rarest]
            self.longest.pop(rarest, None)

    @property
    def times(self) -> int:
        """How often one of the kind that stands there now did before."""
        return self.seen.get(self.last, 0)

    @property
    def longest_after(self) -> float:
        """The longest gap that followed a line of the kind that stands there now; a release before did not keep it."""
        return self.longest.get(self.last, math.inf)

    @property
    def new(self) -> bool:
        rare = sum(self.seen.values()) >= RARE * len(self.seen)
        return bool(self.last and self.seen) and self.last not in self.seen and rare

    @property
    def several(self) -> bool:
        """Whether the log says more than one thing."""
        return len(self.seen) > 1
