"""What gathering keeps of a log: the telling lines in order, and how much life there was between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter

from dogwatch.diagnosis.interface import Role

MOST_HITS = 160
MOST_TEXT = 600
_kind = attrgetter("cause", "raised", "weight")
LONG = 96 << 10  # bytes of ordinary text after which a program has gone on, whatever else shows it


@dataclass(slots=True)
class Gap:
    """Ordinary text between two hits: how much of it, and how much life it shows. `closed`: a launcher or a server
    said that it is over, as it does however it went. `sure`: lines of progress that cannot have been flushed there;
    `again`: a run said that it goes on from where another stopped, and did; `opened`: what the log opens with is said
    again soon after the hit; `reopened`: so many lines of it by a logger; `until`: the newest time on `clock`;
    `lasted`, `spoke`: the seconds for which its lines are dated, and those of a logger."""

    lines: int = 0
    size: int = 0
    progress: int = 0
    done: int = 0
    closed: int = 0
    sure: int = 0
    again: int = 0
    opened: int = 0
    reopened: int = 0
    clock: str = ""
    until: float = 0.0
    lasted: float = 0.0
    spoke: float = 0.0

    def add(self, other: Gap) -> None:
        self.lines += other.lines
        self.size += other.size
        self.progress += other.progress
        self.done += other.done
        self.closed += other.closed
        self.sure += other.sure
        self.again += other.again
        self.opened += other.opened
        self.reopened += other.reopened
        self.lasted += other.lasted
        self.spoke += other.spoke
        if other.clock:
            self.clock, self.until = other.clock, other.until


@dataclass(slots=True)
class Hit:
    """A line that says something about an ending. `before` is the ordinary text since the hit before it.

    `raised`: the exception a traceback ended with; `inner`: another exception was raised while or because of it;
    `from_thread`: printed by a thread or a destructor; `excused`: below another's words, or words that it goes on;
    `unbegun`: at an import, before the program did anything; `logged`: by a logger; `quiet`: said as a warning or
    less; `shared`: one of several processes speaks; `ends`: what comes after it belongs to another attempt;
    `program`: the file that was run, where nobody caught it. `at` is its time on the `clock` that runs in or just above
    the line, if one does.
    """

    cause: str
    role: Role
    weight: float
    fatal: bool
    line: int | None
    text: str
    before: Gap
    raised: bool = False
    inner: bool = False
    from_thread: bool = False
    excused: bool = False
    unbegun: bool = False
    logged: bool = False
    quiet: bool = False
    shared: bool = False
    ends: bool = False
    program: str = ""
    clock: str = ""
    at: float = 0.0
    log: int = 0


@dataclass(slots=True)
class CollectedLines:
    """What one log had to say: its hits in order, and the ordinary text after the last; what the line right above the
    newest tracebacks `says`."""

    hits: list[Hit] = field(default_factory=list)
    after: Gap = field(default_factory=Gap)
    says: int = 0

    def add(self, hit: Hit) -> None:
        """Note a hit; in a flood of them those are let go that repeat what most others say."""
        hit.before.add(self.after)
        self.after = Gap()
        if hit.raised and self.hits and self.hits[-1].inner:
            hit.excused = hit.excused or self.hits[-1].excused
            if self.hits[-1].from_thread:
                hit.from_thread, hit.fatal = True, False
        self.hits.append(hit)
        if len(self.hits) > MOST_HITS:
            self._thin()

    def _thin(self) -> None:
        """Drop one hit from the middle of the commonest kind, and keep the gap before it."""
        kinds = [_kind(hit) for hit in self.hits]
        ((commonest, count),) = Counter(kinds).most_common(1)
        gone = next(islice((place for place, kind in enumerate(kinds) if kind == commonest), count // 2, None))
        self.hits[min(gone + 1, len(self.hits) - 1)].before.add(self.hits[gone].before)
        del self.hits[gone]

    def chain(self) -> None:
        """The exception that is noted next was raised while, or because, the last one was handled."""
        last = next((hit for hit in reversed(self.hits[-3:]) if hit.raised), None)
        if last is not None:
            last.inner = True

    def forget(self) -> None:
        """What was said belongs to an attempt that is over."""
        self.hits.clear()
        self.after = Gap()

    def copy(self) -> CollectedLines:
        return CollectedLines(
            [replace(hit, before=replace(hit.before)) for hit in self.hits], replace(self.after), self.says
        )
