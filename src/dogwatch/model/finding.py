"""Finding and Notification: what a rule concludes now, and what is to be said of it, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from dogwatch.digest import key_of


class Level(StrEnum):
    """How much a finding matters."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    PROGRESS = "progress"


class Closing(IntEnum):
    """How a finding ceased to stand. Only the first is good news; the numbers are kept in the store."""

    OPEN = 0
    RESOLVED = 1
    ENDED_WITH_JOB = 2
    ENDED_WITH_ATTEMPT = 3
    ENDED_WITH_WORKER = 4
    REPLACED = 5
    NOT_WATCHED = 6

    @property
    def word(self) -> str:
        """As JSON has it."""
        return self.name.lower()

    @property
    def says(self) -> str:
        """As it stands before the text of a finding."""
        return _CLOSINGS[self]


_CLOSINGS = {
    Closing.OPEN: "still",
    Closing.RESOLVED: "resolved",
    Closing.ENDED_WITH_JOB: "ended with the job",
    Closing.ENDED_WITH_ATTEMPT: "ended with that attempt",
    Closing.ENDED_WITH_WORKER: "ended with that worker",
    Closing.REPLACED: "replaced by another finding",
    Closing.NOT_WATCHED: "no longer watched",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule concludes now. (subject, rule, what) is its identity: while a rule goes on concluding it the
    finding stays open. It resolves when the rule has looked again and does not, with the job still going on."""

    subject: str
    rule: str
    level: Level
    text: str
    what: str = ""
    lasting: bool = False  # a fact about the past (a worker crashed): once true, it does not resolve
    opened: float = field(default=0.0, compare=False)  # since when it stands, where that is known


@dataclass(frozen=True, slots=True)
class Notification:
    """What is to be said to people; `key` is the same however often it is queued. `rule` and `what` are those of the
    finding, `since` when it began to be true, `why` and `remedy` what is known of the cause."""

    key: str
    subject: str
    level: Level
    text: str
    rule: str = ""
    what: str = ""
    since: float = 0.0
    resolved: int = Closing.OPEN  # how it ended, if that is what is said
    why: str = ""
    remedy: str = ""


def closing(finding: Finding, how: Closing, at: float) -> Notification:
    """That a finding stands no longer, and how that came; nobody needs to be disturbed for it."""
    key = notification_key(finding.subject, finding.rule, f"{finding.what} resolved", repr(at))
    text = f"{how.says}: {finding.text}"
    return Notification(key, finding.subject, Level.INFO, text, finding.rule, finding.what, at, how)


def notification_key(*parts: str) -> str:
    """The key of a notification, the same however often it is made of the same parts."""
    return key_of(*parts)
