"""Polling: who will poll what was just registered; said by `add`, and set up by `add --keep`."""

from __future__ import annotations

from dogwatch.cli.out import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.actions.service import Plan


def plan(home: str, every: str) -> Plan | None:
    """What a recurring poll would need; None where one is on already. What cannot be is refused here."""
    from dogwatch.actions import service
    from dogwatch.config import duration

    return None if service.found(home) is not None else service.plan(home, duration(every, "--every"))


def set_up(made: Plan | None) -> None:
    """Make the recurring poll that was planned."""
    from dogwatch.actions import service

    if made is not None:
        service.install(made)


def say_who_polls(home: str) -> None:
    """One sentence: what polls from now on, or how to have something poll."""
    from dogwatch import assemble
    from dogwatch.actions import service
    from dogwatch.api import queries
    from dogwatch.errors import DogwatchError
    from dogwatch.text import plain

    with assemble.store(readonly=True) as store:
        who = queries.watching(store)
    if who["alive"]:
        until = "" if who["who"] == "daemon" else ", for as long as it runs"
        say(f"`dogwatch {plain(str(who['who']), 40)}` (pid {who['pid']}) polls it{until}")
        if who["who"] == "daemon":
            return
    try:
        there = service.found(home)
    except DogwatchError as error:
        say(f"cannot tell whether a timer polls it: {error}")
        return
    if there is not None:
        often = service.span(there.every)
        say(f"{there.by} polls it every {often}, also after logout; stop it: dogwatch service off")
        if there.by == "cron" and service.cron_runs() is False:
            say("no cron daemon is running on this machine, so nothing is polled")
    elif not who["alive"]:
        say(
            "no watcher is running; start one: dogwatch service on (every 15 min, also after logout) or dogwatch daemon"
        )
