"""Decision: what is seen of a run, what is said of it, and the one thing to do."""

from __future__ import annotations

from dataclasses import dataclass

from dogwatch.model.finding import Level


@dataclass(frozen=True, slots=True)
class Decision:
    """One row of a decision table, filled in. `alerts` is whether people are told by an alert; the others are shown by
    whoever looks, because the change of state was sent already."""

    name: str
    level: Level
    says: str
    do: str
    alerts: bool = False
