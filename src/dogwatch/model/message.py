"""Message: what goes out on one channel at once, about one job or a thousand."""

from __future__ import annotations

from dataclasses import dataclass

from dogwatch.model.finding import Level

RANK = {Level.CRITICAL: 3, Level.WARNING: 2, Level.INFO: 1, Level.PROGRESS: 0}


@dataclass(frozen=True, slots=True)
class Item:
    """One notice of a message, with everything a reader may want of it. `why` is a diagnosis with its quoted line,
    `do` what to do next; both may be empty. `closed` is how it ended, if that is what is said, and `resolved` whether
    that is good news."""

    key: str
    subject: str
    name: str
    level: Level
    rule: str
    text: str
    since: float
    why: str = ""
    do: str = ""
    resolved: bool = False
    closed: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """A number of a job over time, up to when something is said of it; `goal` is what it should reach."""

    name: str
    what: str
    points: tuple[tuple[float, float], ...]
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One thing to send. `key` is the same however often it is tried: Message-ID and Idempotency-Key. `curves` are for
    channels that take pictures."""

    key: str
    items: tuple[Item, ...]
    at: float
    curves: tuple[Curve, ...] = ()

    @property
    def level(self) -> Level:
        return max((item.level for item in self.items), key=RANK.__getitem__)
