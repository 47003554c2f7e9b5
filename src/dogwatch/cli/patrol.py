"""`dogwatch patrol`: look once everywhere, and report what has changed since the last patrol."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, lay_out, log_file_flag, log_path, say
from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, FINE

if TYPE_CHECKING:
    from dogwatch.api.patrol import Report

ABOUT = "Poll every host once, and print only what changed since the last patrol. Made for scripts and cron."
EXAMPLES = (
    "dogwatch patrol",
    "dogwatch patrol --heartbeat --json",
)
DETAILS = """\
If a watcher is running, or a host was polled a moment ago, patrol uses what is stored. Each --reader has its own \
"last time", so two scripts do not take news from each other."""
EXIT_CODES = {0: "nothing bad happened", 1: "a job failed", 3: "no host could be reached"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--heartbeat", action="store_true", help="print a line even when nothing changed")
    parser.add_argument("--reader", metavar="NAME", help="who reads the news (default: you)")
    log_file_flag(parser)
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import patrol
    from dogwatch.cli.leaving import leaving
    from dogwatch.clock import Clock

    clock, cursor = Clock(), patrol.cursor_of(args.reader)
    with assemble.store() as store:
        with leaving(store, clock):
            polled = assemble.poll_once(store, clock, log_path(args.log_file), complain=say)
        report = patrol.report(store, polled, cursor)
        if args.json:
            groups = [group.document() for group in report.groups]
            emit(
                {
                    "changes": report.changes,
                    "groups": groups,
                    "runs": list(report.runs),
                    "reminders": list(report.reminders),
                    "unreachable": report.unreachable,
                    "polled": polled,
                }
            )
        else:
            _print(report, args.heartbeat, clock.now())
        sys.stdout.flush()  # said before it is remembered as said
        patrol.reported(store, report, cursor)
    if report.all_unreachable:
        return COULD_NOT_POLL
    return ENDED_BADLY if report.bad_ending else FINE


def _print(report: Report, heartbeat: bool, now: float) -> None:
    from dogwatch.api import patrol_runs
    from dogwatch.text import plain
    from dogwatch.tui.words import clock

    lay_out(report.lines())
    changed = {change["ref"] for change in report.changes}
    lay_out(patrol_runs.lines(run for run in report.runs if heartbeat or run["ref"] in changed))
    lay_out([plain(text, 600) for text in report.reminders])
    for place in report.unreachable:
        since = clock(place["unreachable_since"], now)
        say(f"{plain(place['name'], 40)} is unreachable since {since}: {plain(place['unreachable_why'] or '', 300)}")
        if not heartbeat:
            for line in patrol_runs.lines(run for run in report.runs if run["place"] == place["name"]):
                say(line)
    if heartbeat:
        print(report.sentence(now))
