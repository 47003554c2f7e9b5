"""The commands section: programs of a host that the probe runs, as a request asks for them and as the answer tells.

A request is a mapping from names to `Command`, run in their order; the answer is a `CommandsSection`. Whatever a
source wants of a command-line scheduler is data in these, so that a new one needs no code on the host.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from dogwatch.wire.limits import MOST_ROWS, Content, Count, Name, Said, Seconds, Whole

SECTION = "commands"
MOST_BYTES = 64 << 20  # what one command may print at most
OWN_PATH = "$PATH"  # in a command's `path`: the directories of the host's own PATH

_Listed = Meta(max_length=MOST_ROWS)


class _Strict(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """No field that nobody knows, and none of another type."""


class Rows(_Strict):
    """How a command lists jobs: one per line, in columns; `ids` are those that are looked for. Only a line with `mark`
    in its column lists one, since a job's name may hold whole lines."""

    ids: Annotated[list[Name], _Listed]
    separator: Name
    id: Count
    state: Count
    mark: Name = ""
    mark_at: Count = 0


class FollowUp(_Strict):
    """For which ids a command is run: those that command `of` looks for and does not list in one of `states`, and
    those in `always`; with `listed` those that it does list so. One run for all of them (`{ids}`), or with `each` one
    for each (`{id}`)."""

    of: Name
    states: list[Name]
    always: Annotated[list[Name], _Listed] = []
    listed: bool = False
    each: bool = False


class Command(_Strict):
    """One program and its arguments; `{me}` in one is the user there.

    It is looked for in the directories of `path`, without any in the host's own. It is run only if the command `after`
    answered: ended with 0, or said one of its `answers` on stderr. `unset` names variables, or their beginning before a
    `*`. `users_after` is the text behind which it prints user ids: their names come with the answer."""

    argv: list[Said]
    seconds: Seconds
    bytes: Count = MOST_BYTES
    path: list[Name] = []
    environment: dict[Name, Name] = {}
    unset: list[Name] = []
    answers: list[Name] = []
    after: Name | None = None
    rows: Rows | None = None
    follow_up: FollowUp | None = None
    users_after: Name = ""


class Ran(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a command said and how it ended; `ids` are those that it was asked about."""

    rc: Whole | None
    out: Content
    err: Said
    seconds: Seconds
    why: Said | None
    ids: Annotated[list[Name], _Listed] = []
    users: Annotated[dict[Name, Name], _Listed] = {}


class CommandsSection(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What ran, by name, and how often each program was started. A command that is not there was not run."""

    ok: bool
    seconds: Seconds = 0.0
    why: Said = ""
    me: Name = ""
    ran: Annotated[dict[Name, Ran], _Listed] = {}
    counts: dict[Name, Count] = {}


NO_COMMANDS = CommandsSection(ok=False, why="no reason given")
