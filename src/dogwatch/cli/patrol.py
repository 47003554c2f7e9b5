"""`dogwatch patrol`: look once everywhere, and report what has changed since the last patrol."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import COULD_NOT_LOOK, ENDED_BADLY, FINE

HELP = "look once, and print only what has changed since the last patrol"
EPILOG = """\
Beside a running watcher, or sooner than a place allows, it answers from what is known.
exit codes: 1 when it reports a bad ending, 3 when every place was dark"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--heartbeat", action="store_true", help="print a line even when nothing has changed")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock
    from dogwatch.desk import patrol

    clock = Clock()
    with assemble.store() as store:
        looked = assemble.look_once(store, clock)
        report = patrol.report(store, looked)
        if args.json:
            emit({"changes": report.changes, "dark": report.dark, "looked": looked})
        else:
            _print(report.changes, report.dark, args.heartbeat, report.sentence(clock.now()))
        patrol.reported(store, report)
    if report.all_dark:
        return COULD_NOT_LOOK
    return ENDED_BADLY if report.bad_ending else FINE


def _print(changes: list[dict[str, Any]], dark: list[dict[str, Any]], heartbeat: bool, sentence: str) -> None:
    from dogwatch.text import plain

    for change in changes:
        subject = plain(change["name"] or change["ref"] or change["place"] or "watch", 60)
        print(f"{subject}: {plain(change['text'], 300)}")
    for place in dark:
        say(f"{place['name']} is dark since {place['dark_since']}: {place['dark_why']}")
    if heartbeat:
        print(sentence)
