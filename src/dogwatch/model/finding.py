"""Finding and Notice: what a rule concludes now, and what is to be said of it, once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding matters."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule concludes now. (subject, rule, what) is its identity: while a rule goes on
    concluding it the finding stays open; when it no longer does, the finding resolves."""

    subject: str
    rule: str
    level: Level
    text: str
    what: str = ""
    lasting: bool = False  # a fact about the past (a worker crashed): once true, it does not resolve


@dataclass(frozen=True, slots=True)
class Notice:
    """What is to be said to people; `key` is the same however often it is queued. `rule` and `what` are those of the
    finding, `since` when it began to be true, `why` and `remedy` what is known of the cause."""

    key: str
    subject: str
    level: Level
    text: str
    rule: str = ""
    what: str = ""
    since: float = 0.0
    resolved: bool = False
    why: str = ""
    remedy: str = ""
