"""`dogwatch waiters`: who waits for what, and ending waiters."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, say, table, width
from dogwatch.errors import ENDED_BADLY, FINE, UsageError

if TYPE_CHECKING:
    from dogwatch.assemble import Location
    from dogwatch.wire.documents.waiters import WaiterDocument

ABOUT = "List the running `dogwatch wait` commands, and the records of those that were killed (stale)."
EXAMPLES = (
    "dogwatch waiters",
    "dogwatch waiters rm w-3f91c2",
    "dogwatch waiters rm --stale",
)
DETAILS = "A waiter that is ended exits with code 5 and says why. No job is touched."
EXIT_CODES = {0: "done", 1: "a waiter has not ended yet", 4: "no such waiter"}
SECONDS_TO_END, PAUSE = 5.0, 0.05


def arguments(parser: ArgumentParser) -> None:
    json_flag(parser)
    parts = parser.add_subparsers(dest="verb", metavar="COMMAND")
    remove = parts.add_parser("rm", help="end waiters, or remove the records of killed ones")
    remove.add_argument("ids", nargs="*", metavar="ID", help="the id of a waiter, as `dogwatch waiters` shows it")
    remove.add_argument("--stale", action="store_true", help="remove every record whose process is gone")
    json_flag(remove)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import waiters
    from dogwatch.clock import Clock

    if args.verb == "rm":
        return _remove(args, assemble.location())
    with assemble.store(readonly=True) as store:
        found = waiters.listing(store)
    if args.json:
        emit({"waiters": found})
    elif found:
        now = Clock().now()
        rows = [("ID", "STATE", "CONSUMER", "PID", "WAITS FOR", "SINCE", "UNTIL"), *(_row(one, now) for one in found)]
        for line in table(rows, width()):
            print(line)
        if any(not one["alive"] for one in found):
            say("remove the stale ones: dogwatch waiters rm --stale")
    else:
        say("no waiter is running")
    return FINE


def _row(one: WaiterDocument, now: float) -> tuple[str, ...]:
    from dogwatch.text import plain
    from dogwatch.tui.words import clock

    state = "ending" if one["alive"] and one["ending"] else "waiting" if one["alive"] else "stale"
    jobs = ", ".join(plain(name, 40) for name in one["names"][:4]) + (" …" if len(one["names"]) > 4 else "")
    what = f"{jobs}: {plain(one['condition'], 60)}"
    consumer = plain(one["consumer"] or "-", 30)
    return one["id"], state, consumer, str(one["pid"]), what, clock(one["since"], now), clock(one["until"], now)


def _remove(args: Namespace, location: Location) -> int:
    from dogwatch.api import waiters

    if bool(args.ids) == args.stale:
        raise UsageError("name waiters, or give --stale; `dogwatch waiters` lists them")
    removed, asked = (waiters.remove_stale(location), list[str]()) if args.stale else waiters.end(location, args.ids)
    until = time.monotonic() + SECONDS_TO_END
    while (left := waiters.left(location, asked)) and time.monotonic() < until:
        time.sleep(PAUSE)
    ended = [one for one in asked if one not in left]
    if args.json:
        emit({"removed": removed, "ended": ended, "not_ended": left})
    else:
        for one in (*removed, *ended):
            print(one)
        if args.stale and not removed:
            say("no record is stale")
        for one in left:
            say(f"{one} was asked to end and has not yet; its process is stopped or busy")
    return ENDED_BADLY if left else FINE
