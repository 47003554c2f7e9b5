"""`dogwatch handbook`: what somebody needs who takes over, as a page of Markdown made from the store now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, emit, json_flag, say
from dogwatch.errors import FINE

ABOUT = "Write what a person or program needs who has never seen these jobs: what runs where, and every command."
EXAMPLES = (
    "dogwatch handbook",
    "dogwatch handbook train",
    "dogwatch handbook --write HANDBOOK.md",
)
DETAILS = """\
The page is Markdown: what runs where, what to type first, how to see, resume, stop and fetch each job, its stages, \
what was tried, notes, open and undelivered alerts, costs and waiters. It is made from the store each time and says \
how old the knowledge is; no host is contacted. Secrets are left out. Without a job it has those that have not ended, \
and those that ended within a week."""
EXIT_CODES = {0: "shown or written", 2: "the file cannot be written", 3: "no store", 4: "no such job"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", metavar="JOB", help=JOB)
    parser.add_argument("--write", metavar="FILE", help="write it to this file, readable only by you (mode 0600)")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import box_profiles, handbook, queries
    from dogwatch.api.handbook.file import write
    from dogwatch.clock import Clock
    from dogwatch.tui.handbook import lines

    clock = Clock()
    with assemble.store(readonly=True) as store:
        ref = queries.find(store, [args.ref], say) if args.ref else None
        price, stops = assemble.settings().price_per_gpu_hour, box_profiles.stop_commands(store)
        book = handbook.document(store, clock.now(), price, stops, ref)
    text = "\n".join(lines(book, clock.now())) + "\n"
    if args.write is not None:
        path = write(args.write, text)
        if not args.json:
            print(path)
    if args.json:
        emit(book)
    elif args.write is None:
        print(text, end="")
    return FINE
