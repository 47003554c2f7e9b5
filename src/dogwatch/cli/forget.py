"""`dogwatch forget`: stop watching jobs; the jobs themselves go on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, emit, json_flag

ABOUT = "Stop watching jobs and leave them out of lists. The jobs keep running, and their history is kept."
EXAMPLES = ("dogwatch forget train",)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("refs", nargs="+", metavar="JOB", help=JOB)
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import commands, queries
    from dogwatch.clock import Clock

    with assemble.store() as store:
        refs = queries.find_each(store, args.refs)
        for ref in refs:
            commands.forget(store, Clock(), ref)
    if args.json:
        emit({"forgotten": refs})
    else:
        for ref in refs:
            print(ref)
    return 0
