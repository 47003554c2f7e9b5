"""Workers that somebody else started: whether what was found can be watched, and which question is asked if not."""

from __future__ import annotations

import pwd
import time

from dogwatch.errors import UsageError
from dogwatch.text import plain
from dogwatch.wire.questions import Search
from dogwatch.wire.sections import Choice, Find

HEADS = ("PID", "USER", "STARTED", "COMMAND")
ADD = "type: dogwatch add process"
MOST_SHOWN = 20
WIDEST = 200


def uid_of(user: str | None) -> int | None:
    """The number of a user by name; None stands for whoever asks."""
    if user is None:
        return None
    try:
        return int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid
    except KeyError:
        raise UsageError(f"there is no user {plain(user, 40)} on this machine") from None


def insist(answer: Find, search: Search, *, wait_for_them: bool) -> None:
    """Refuse what cannot be watched: more than was expected, and, unless they may still come, nothing at all."""
    if answer.choice:
        raise UsageError(question(answer, search, "run the same command with --pid" if wait_for_them else ADD))
    want = search.want
    if want is not None and (answer.named or 0) > want:
        raise UsageError(f"{answer.problem}; correct the number, or name the workers with --pid")
    if wait_for_them:
        return
    if answer.problem:
        raise UsageError(f"{answer.problem}; nothing was registered{_remedy(answer, search)}")
    if answer.process and all(process.doing == "gone" for process in answer.process):
        raise UsageError(f"none of the processes in {search.pidfile} is running any more; nothing was registered")
    if not answer.workers:
        raise UsageError("no such process is running on this machine; nothing was registered")


def question(answer: Find, search: Search, how: str) -> str:
    """The processes among which somebody must choose, and what to type."""
    rows = [_row(process) for process in (answer.choice or [])[:MOST_SHOWN]]
    wide = [max(len(row[i]) for row in [*rows, HEADS]) for i in range(3)]
    table = [
        f"  {pid:>{wide[0]}}  {user:<{wide[1]}}  {at:<{wide[2]}}  {line}" for pid, user, at, line in [HEADS, *rows]
    ]
    more = (answer.count or 0) - len(rows)
    table += [f"  … and {more} more"] if more > 0 else []
    want = search.want
    some = " ".join(row[0] for row in rows[: want or 2])
    first = f"{answer.problem}; which of them are the workers?"
    return "\n".join([first, *table, f"to watch some of them, {how} {some}{' …' if want is None else ''}"])


def _row(process: Choice) -> tuple[str, str, str, str]:
    started = process.started
    at = "?" if started is None else time.strftime("%m-%d %H:%M:%S", time.localtime(started))
    return str(process.pid), _user(process.uid), at, plain(process.command, WIDEST)


def _user(uid: int | None) -> str:
    if uid is None:
        return "?"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _remedy(answer: Find, search: Search) -> str:
    """What somebody may have meant who named processes that are not there."""
    if not search.name or answer.workers:
        return ""
    if answer.others:
        return "; --user NAME takes those of another user"
    return "; a name is a whole argument or the name of a script, and --pid takes any process"
