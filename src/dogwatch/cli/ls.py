"""`dogwatch ls`: the jobs, one line each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dogwatch.wire.documents.job import BriefJob

ABOUT = "List the jobs that have not ended, with state, progress, ETA and open alerts."
EXAMPLES = (
    "dogwatch ls",
    "dogwatch ls --all",
    "dogwatch ls --json --brief",
)
DETAILS = """\
A terminal shows as many columns as fit; a pipe gets all of them. When no watcher is running, `ls` polls first, for at \
most 2 seconds. The line below the table says how old the data is."""
# The one verb that must be quick: when it is given nothing but these, no parser is made.
FLAGS = ("--all", "--json", "--brief", "--no-poll")


def arguments(parser: ArgumentParser) -> None:
    from dogwatch.cli.out import json_flag
    from dogwatch.cli.poll_first import no_poll_flag

    parser.add_argument("--all", action="store_true", help="include jobs that have ended")
    parser.add_argument(
        "--brief", action="store_true", help="with --json: only name, state, progress, ETA and alert, as short lists"
    )
    no_poll_flag(parser)
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.cli import out
    from dogwatch.clock import Clock

    with assemble.store(readonly=True) as store:
        if not args.no_poll:
            from dogwatch.cli.poll_first import freshen

            freshen(store)
        if args.json and not args.brief:
            out.emit(queries.listing(store, everything=args.all))
            return 0
        jobs = queries.brief(store, everything=args.all)
        watched, unheard = queries.watched(store), queries.unheard(store)
    now = Clock().now()
    if args.brief:
        from dogwatch.cli import job_table

        out.emit(job_table.brief(jobs, now), compact=True)
        return 0
    _print(jobs, now, everything=args.all)
    if not watched and any(job["state"] != "ended" for job in jobs):
        out.say("no watcher is running; start one: dogwatch daemon")
    if unheard:
        from dogwatch.text import plain

        out.say(f"alerts do not arrive ({plain(', '.join(unheard), 120)}); `dogwatch alerts` says why")
    return 0


def _print(jobs: Sequence[BriefJob], now: float, everything: bool) -> None:
    """The table on stdout, and how old it is on stderr."""
    from dogwatch.cli import job_table, out

    if not jobs:
        none, all_ended = (
            "no jobs yet; start one: dogwatch run -- PROGRAM",
            "no running jobs; list all: dogwatch ls --all",
        )
        out.say(none if everything else all_ended)
        return
    for line in job_table.table(jobs, now, out.width()):
        print(line)
    if age := job_table.age(jobs, now):
        out.say(age)
