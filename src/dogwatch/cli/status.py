"""`dogwatch status`: everything known of one job, or a line for each when none is named."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say

HELP = "show everything known of a job (all that have not ended when none is named)"
RECENT = 8


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="REF|WORDS", help="a ref, a name, a unique prefix, or words of it")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock
    from dogwatch.desk import ask
    from dogwatch.tui.details import details

    with assemble.store(readonly=True) as store:
        if args.words:
            refs = [ask.find(store, args.words)]
        else:
            refs = [job["ref"] for job in ask.brief(store)]
        jobs = ask.documents(store, refs)
        watch, places = ask.watching(store), ask.listing_places(store)
        if args.json:
            emit({"jobs": jobs, "places": places, "watch": watch})
            return 0
        now = Clock().now()
        for job in jobs:
            for line in details(job, ask.events(store, limit=RECENT, ref=job["ref"]), now):
                print(line)
    if not jobs:
        say("nothing is being watched that has not ended; `dogwatch ls --all` lists the rest")
    elif not watch["alive"] and any(job["state"] != "ended" for job in jobs):
        say("nobody is watching: what you see was true when it was last proved")
    for place in places:
        if place["dark_since"]:
            say(f"{place['name']} does not answer since {place['dark_since']}: {place['dark_why']}")
    return 0
