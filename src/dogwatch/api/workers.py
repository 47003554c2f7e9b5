"""Workers that somebody else started: whether what was found can be watched, and which question is asked if not."""

from __future__ import annotations

import pwd
import time
from collections.abc import Mapping
from typing import Any

from dogwatch.errors import UsageError
from dogwatch.text import plain

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


def insist(answer: Mapping[str, Any], find: Mapping[str, Any], *, wait_for_them: bool) -> None:
    """Refuse what cannot be watched: more than was expected, and, unless they may still come, nothing at all."""
    if answer.get("choice"):
        raise UsageError(question(answer, find, "run the same command with --pid" if wait_for_them else ADD))
    want = find["want"]
    if want is not None and answer.get("named", 0) > want:
        raise UsageError(f"{answer['problem']}; correct the number, or name the workers with --pid")
    if wait_for_them:
        return
    if answer.get("problem"):
        raise UsageError(f"{answer['problem']}; nothing was registered{_remedy(answer, find)}")
    if answer["process"] and all(process["doing"] == "gone" for process in answer["process"]):
        raise UsageError(f"none of the processes in {find['pidfile']} is running any more; nothing was registered")
    if not answer["workers"]:
        raise UsageError("no such process is running on this machine; nothing was registered")


def question(answer: Mapping[str, Any], find: Mapping[str, Any], how: str) -> str:
    """The processes among which somebody must choose, and what to type."""
    rows = [_row(one) for one in answer["choice"][:MOST_SHOWN]]
    wide = [max(len(row[i]) for row in [*rows, HEADS]) for i in range(3)]
    table = [
        f"  {pid:>{wide[0]}}  {user:<{wide[1]}}  {at:<{wide[2]}}  {line}" for pid, user, at, line in [HEADS, *rows]
    ]
    more = answer["count"] - len(rows)
    table += [f"  … and {more} more"] if more > 0 else []
    want = find["want"]
    some = " ".join(row[0] for row in rows[: want or 2])
    first = f"{answer['problem']}; which of them are the workers?"
    return "\n".join([first, *table, f"to watch some of them, {how} {some}{' …' if want is None else ''}"])


def _row(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    started = one.get("started")
    at = "?" if started is None else time.strftime("%m-%d %H:%M:%S", time.localtime(started))
    return str(one["pid"]), _user(one.get("uid")), at, plain(str(one["command"]), WIDEST)


def _user(uid: int | None) -> str:
    if uid is None:
        return "?"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _remedy(answer: Mapping[str, Any], find: Mapping[str, Any]) -> str:
    """What somebody may have meant who named processes that are not there."""
    if not find["name"] or answer["workers"]:
        return ""
    if answer.get("others"):
        return "; --user NAME takes those of another user"
    return "; a name is a whole argument or the name of a script, and --pid takes any process"
