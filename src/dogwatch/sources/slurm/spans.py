"""The task ids of an array as Slurm writes them (`0-100:5,107%3`), counted and compared without listing them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_PARTS = 100_000


@dataclass(frozen=True, slots=True)
class Span:
    """Task ids. Not `whole` when Slurm cut its list short, so that there are more than it names."""

    ranges: tuple[range, ...] = ()
    whole: bool = True

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __contains__(self, task: int) -> bool:
        return any(task in part for part in self.ranges)

    def but(self, tasks: Set[int], earlier: Sequence[Span] = ()) -> int:
        """How many ids are left without `tasks` and those of `earlier` spans."""
        if not earlier:
            return len(self) - sum(1 for task in tasks if task in self)
        own = (task for part in self.ranges for task in part[:_PARTS] if task not in tasks)
        return sum(1 for task in own if not any(task in span for span in earlier))


def span(text: str) -> Span:
    """What `[4-9%2]` names; what cannot be read is left out, and said to be."""
    listed, _, _ = text.strip("[] ").partition("%")
    ranges, whole = [], True
    parts = listed.split(",")
    for part in parts[:_PARTS]:
        found = _PART.fullmatch(part)
        if found is None:
            whole = False
            continue
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        ranges.append(range(first, last + 1, max(1, step)))
    return Span(tuple(ranges), whole and len(parts) <= _PARTS)


def spell(tasks: Iterable[int]) -> str:
    """Task ids as Slurm writes them: `0-5,7`."""
    parts: list[list[int]] = []
    for task in sorted(set(tasks)):
        if parts and task == parts[-1][1] + 1:
            parts[-1][1] = task
        else:
            parts.append([task, task])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
