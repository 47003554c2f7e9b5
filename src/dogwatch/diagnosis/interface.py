"""What a cause is, what is asked of `diagnose`, and what it answers; values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """Where in the fall of a job a line stands: what began it, what followed from it, what was tidied up after."""

    ROOT = "root"
    CASCADE = "cascade"
    TEARDOWN = "teardown"


class Retry(StrEnum):
    """What starting the job again would be worth."""

    NEVER = "never"
    AFTER_FIX = "after_fix"
    AS_IS = "as_is"
    WITH_CHANGE = "with_change"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way in which a cause shows in a line. `stem` holds lower-case literals, set apart by `|`, one of which is
    in every such line; `pattern` (searched without case, the stem itself when empty) decides, `unless` rules out.

    `weight` is how sure the line alone makes us. `raised`: it counts only as the exception that a program was
    left with. `fatal`: no job goes on after such a line. `role` overrides that of the cause. `many`: it speaks of
    one of several processes. `ends`: whatever comes after it belongs to another attempt. `first`: it is asked before
    surer signs, because it only wraps what they would see in it. `frame`: the innermost frame of its traceback, or the
    call that led into the library that raised it, where the exception alone does not tell.
    """

    stem: str
    pattern: str = ""
    weight: float = 0.9
    raised: bool = False
    fatal: bool = False
    role: Role | None = None
    unless: str = ""
    many: bool = False
    ends: bool = False
    first: bool = False
    frame: str = ""


@dataclass(frozen=True, slots=True)
class OnScheduler:
    """Words for a job that a scheduler ran, in which JOB stands for its id, and the words `elsewhere`: none, where
    there is nothing to say then. What is a plain string instead holds wherever a job runs."""

    there: str
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """A row of the catalog. `advice` is what to do about it. `neighbours` are the causes that are easily confused with
    it, and `tell` names the commands that tell them apart; a cause whose `tell` has no words `elsewhere` happens to
    jobs of a scheduler only."""

    name: str
    title: str
    retry: Retry
    advice: tuple[str | OnScheduler, ...]
    patterns: tuple[Pattern, ...] = ()
    role: Role = Role.ROOT
    neighbours: tuple[str, ...] = ()
    tell: str | OnScheduler = ""


@dataclass(frozen=True, slots=True)
class Log:
    """One log as pieces of bytes in order. `first_line` is the number of the first line in the pieces, so that a
    part of a shared log can be given and quoted with its true line numbers; None where nobody counted."""

    name: str
    pieces: Iterable[bytes]
    first_line: int | None = 1


@dataclass(frozen=True, slots=True)
class OutsideEvidence:
    """Something that was measured where and when it ended, and the cause it speaks for."""

    cause: str
    says: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of how an attempt ended. `succeeded` None means that nobody knows: then the logs alone
    must show that it failed. `command_id` is the id that its scheduler's commands take: "" where
    none ran it, and None where nobody knows who did."""

    logs: tuple[Log, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    state: str = ""
    reason: str = ""
    succeeded: bool | None = None
    oom_kills: int = 0
    free_bytes: int | None = None
    free_inodes: int | None = None
    stalled: bool = False
    evidence: tuple[OutsideEvidence, ...] = ()
    command_id: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that shows a cause: clean, redacted and bounded. `line` counts newlines from 1."""

    file: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another cause that the evidence leaves open, and what would tell."""

    cause: str
    title: str
    confidence: float
    tell: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The likeliest cause and the lines that show it; `unknown` when the evidence does not decide."""

    cause: str
    title: str
    confidence: float
    role: Role
    retry: Retry
    evidence: tuple[Quote, ...] = ()
    advice: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = field(default=())
