"""`dogwatch events`: the history, and with --follow what is added to it."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, lay_out, say

if TYPE_CHECKING:
    from dogwatch.wire.documents.watch import EventDocument

ABOUT = "Print what happened, oldest first: changes of state, findings, checkpoints, alerts."
EXAMPLES = (
    "dogwatch events train",
    "dogwatch events --follow --json",
)
DETAILS = "With --follow --json: one JSON object per line."
NEWEST = 50
PAUSE = 0.5


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", metavar="JOB", help="only events of this job")
    parser.add_argument("--since", type=int, metavar="N", help=f"events after number N (default: the last {NEWEST})")
    parser.add_argument("--follow", action="store_true", help="keep printing new events until Ctrl-C")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.clock import Clock
    from dogwatch.errors import UsageError

    if args.since is not None and args.since < 0:
        raise UsageError(f"--since takes the number of an event, 0 or more, not {args.since}")
    clock = Clock()
    with assemble.store(readonly=True) as store:
        names = queries.names(store)
        ref = queries.find(store, [args.ref], say) if args.ref else None
        found = queries.events(store, since=args.since or 0, limit=None if args.since is not None else NEWEST, ref=ref)
        if not args.follow:
            if args.json:
                emit({"events": found})
            for event in [] if args.json else found:
                lay_out([line(event, names, clock.now())])
            return 0
        if not queries.watching(store)["alive"]:
            say("no watcher is running, so no new events will come; start one: dogwatch daemon")
        last = args.since or 0
        while True:
            for event in found:
                names = names if event["ref"] in (None, *names) else queries.names(store)
                emit(event) if args.json else lay_out([line(event, names, clock.now())])
                last = event["seq"]
            time.sleep(PAUSE)
            found = queries.events(store, since=last, ref=ref)


def line(event: EventDocument, names: Mapping[str, str], now: float) -> str:
    """One event for a person: its number, its local time, the name of its job (or the place), and what happened."""
    from dogwatch.text import plain
    from dogwatch.tui.words import clock

    ref = event["ref"]
    subject = plain(names.get(ref, ref) if ref else event["place"] or "watch", 60)
    when = clock(event["at"], now, seconds=True)
    return f"{event['seq']:>6}  {when:<8}  {event['level']:<8}  {subject}  {plain(event['text'], 300)}"
